-- Periods of a slice that were recorded as fetched in the future: they count as fetched when they began, so that nothing of them
-- is final and they are due.
-- $1 slice, $2 the latest instant that counts as now
-- Returns nothing.
update ripen.periods
set
    fetched_at = least(ends_at - to_days((end_day - start_day)::integer), $2::timestamp),
    trusted_at = null,
    state = 'open',
    next_refresh_at = ends_at
where slice = $1 and fetched_at > $2::timestamp
