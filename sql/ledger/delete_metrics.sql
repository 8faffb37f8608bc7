-- Deletes the metrics of a slice, which are about to be recorded anew.
-- $1 slice
-- Returns nothing.
delete from ripen.slice_metrics
where slice = $1
