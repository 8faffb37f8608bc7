-- Deletes the entries of a metric whose values were deleted: if it is configured again, its periods are due.
-- $1 slice, $2 fingerprint, $3 metric, null for all of a dropped table
-- Returns nothing.
update ripen.loads
set metrics = list_filter(metrics, lambda m: m <> $3)
where slice = $1 and fingerprint = $2 and ($3::varchar is null or list_contains(metrics, $3))
