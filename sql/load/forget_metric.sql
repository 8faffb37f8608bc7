-- Forgets that loads had a metric whose column was removed: if it is configured again, its periods are due.
-- $1 slice, $2 fingerprint, $3 metric
-- Returns nothing.
update ripen.loads
set metrics = list_filter(metrics, lambda m: m <> $3)
where slice = $1 and fingerprint = $2 and list_contains(metrics, $3)
