-- Periods without rows that were recorded as fetched in the future, for days that have not begun: deletes them.
-- $1 the latest instant that counts as now
-- Returns nothing.
delete from ripen.periods
where
    fetched_at > $1::timestamp
    and rows = 0
    and requested_start > ($1::timestamp + (end_day::timestamp - ends_at))::date
