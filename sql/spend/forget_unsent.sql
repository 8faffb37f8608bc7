-- Forgets lines that were being sent for the first time and certainly were not received.
-- $1 their Cost IDs (JSON list)
delete from ripen.spend
where outcome = 'sending'
    and outcome_before is null
    and cost_id in (select unnest(from_json($1::json, '["VARCHAR"]')))
