-- Periods whose fetch has not come: a clock that was ahead dated it. They count as fetched when they began, so that nothing of
-- them is final and they are due; those that have not begun stay as they are.
-- $1 now
-- Returns nothing.
update ripen.periods
set
    fetched_at = ends_at - to_days((end_day - start_day)::integer),
    sound_at = null,
    state = 'open',
    next_refresh_at = ends_at
where fetched_at > $1::timestamp and ends_at - to_days((end_day - start_day)::integer) <= $1::timestamp
