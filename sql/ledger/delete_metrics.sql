-- Deletes the metrics of slices, which are about to be recorded anew.
-- $1 slices (JSON list)
-- Returns nothing.
delete from ripen.slice_metrics
where slice in (select unnest(from_json($1::json, '["VARCHAR"]')))
