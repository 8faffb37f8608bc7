-- Undoes the record that lines were being sent, as they certainly were not received: the outcome of before is restored, and a
-- line that was sent for the first time is forgotten.
-- $1 the lines (JSON list)
merge into ripen.spend as s
using (select unnest(from_json($1::json, '[{"cost_id":"VARCHAR"}]'), recursive := true)) as l
on s.cost_id = l.cost_id and s.outcome = 'sending'
when matched and s.outcome_before is null then delete
when matched then update set outcome = s.outcome_before
