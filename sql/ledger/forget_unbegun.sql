-- Periods without rows whose fetch has not come, of days that have not begun either: a clock that was ahead asked for them, and
-- nothing is known of them.
-- $1 now
-- Returns nothing.
delete from ripen.periods
where
    fetched_at > $1::timestamp
    and rows = 0
    and asked_start > ($1::timestamp + (end_day::timestamp - ends_at))::date
