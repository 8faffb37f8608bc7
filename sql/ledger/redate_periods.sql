-- Periods whose fetch has not come: a clock that was ahead dated it. They count as fetched when they began, and as far as the day
-- of now, so that nothing of them is final and they are due; those of days that have not begun stay as they are.
-- $1 now
-- Returns nothing.
update ripen.periods as p
set
    fetched_at = d.begun_at,
    asked_end = d.asked_end,
    whole = p.whole and d.asked_end = p.asked_end,
    sound_at = null,
    computed_at = null,
    state = 'open',
    next_refresh_at = p.ends_at
from (
    select
        slice,
        fingerprint,
        start_day,
        ends_at - to_days((end_day - start_day)::integer) as begun_at,
        least(asked_end, ($1::timestamp + (end_day::timestamp - ends_at))::date + 1) as asked_end
    from ripen.periods
    where fetched_at > $1::timestamp
) as d
where
    p.slice = d.slice
    and p.fingerprint = d.fingerprint
    and p.start_day = d.start_day
    and p.fetched_at > $1::timestamp
    and p.asked_start < d.asked_end
