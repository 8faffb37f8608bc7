-- How the control totals of some metrics grew: the totals that a period had at any time until they could be final, the first one
-- since, and the last. For a metric that is never final: the last alone.
-- $1 what is read (JSON list of number, control, metric, is_hourly, and final_seconds: how long after the end of a period totals may
-- change, null: for ever), $2 days of history
-- Returns one row per number that has totals: number, changes (JSON of parallel lists, in any order: the first day of the period, in
-- days since 1970, the seconds since its end, and the total; none is 0).
with wanted as materialized (
    select
        *,
        -- Joins on numbers take half the time.
        dense_rank() over (order by control) as control_no
    from (
        select unnest(
            from_json(
                $1::json,
                '[{"number":"INTEGER","control":"VARCHAR","metric":"VARCHAR","is_hourly":"BOOLEAN","final_seconds":"BIGINT"}]'
            ),
            max_depth := 2
        )
    )
),

hourly as materialized (
    select
        w.number,
        w.control_no,
        w.final_seconds,
        c.starts_at,
        c.starts_at::date as start_day,
        c.seen_at,
        c.value
    from ripen.control_totals as c
    join wanted as w on w.control = c.control and w.metric = c.metric and w.is_hourly
),

totals as (
    select
        w.number,
        w.control_no,
        w.final_seconds,
        c.starts_at::date as start_day,
        c.seen_at,
        c.value
    from ripen.control_totals as c
    join wanted as w on w.control = c.control and w.metric = c.metric and not w.is_hourly
    union all
    -- The total of a day changes whenever one of its hours does.
    select
        m.number,
        m.control_no,
        m.final_seconds,
        m.start_day,
        m.seen_at,
        sum(c.value)
    from (select distinct number, control_no, final_seconds, start_day, seen_at from hourly) as m
    join (select distinct number, start_day, starts_at from hourly) as h on h.number = m.number and h.start_day = m.start_day
    asof left join hourly as c on c.number = h.number and c.starts_at = h.starts_at and c.seen_at <= m.seen_at
    group by m.number, m.control_no, m.final_seconds, m.start_day, m.seen_at
),

periods as (
    select distinct
        w.control_no,
        p.start_day,
        p.ends_at
    from ripen.periods as p
    join ripen.slice_tables as t on t.slice = p.slice and t.fingerprint = p.fingerprint and t.state = 'live'
    join (select distinct control, control_no from wanted) as w on w.control = t.control
    where p.whole
    qualify p.end_day > max(p.end_day) over (partition by t.control) - $2::integer
),

changes as materialized (
    select
        t.number,
        date_diff('day', date '1970-01-01', t.start_day)::integer as start,
        floor(epoch(t.seen_at - p.ends_at))::integer as seconds,
        coalesce(t.value, 0) as value,
        coalesce(seconds < t.final_seconds, false) as is_kept,
        seconds >= t.final_seconds as is_final
    from totals as t
    join periods as p on p.control_no = t.control_no and p.start_day = t.start_day
),

ends as (
    select
        number,
        start,
        min(seconds) filter (is_final) as first_final,
        max(seconds) as last
    from changes
    group by number, start
)

select
    c.number,
    to_json({starts: list(c.start), seconds: list(c.seconds), "values": list(c.value)})::varchar as changes
from changes as c
join ends as e on e.number = c.number and e.start = c.start
where c.is_kept or c.seconds = e.first_final or c.seconds = e.last
group by c.number
