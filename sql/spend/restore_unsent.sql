-- Takes back that lines were being sent, as they certainly were not received, where an earlier outcome is known.
-- $1 their Cost IDs (JSON list)
update ripen.spend
set outcome = outcome_before
where outcome = 'sending'
    and outcome_before is not null
    and cost_id in (select unnest(from_json($1::json, '["VARCHAR"]')))
