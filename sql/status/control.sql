-- How far the totals of each slice were last compared with those of the service.
-- $1 as-of instant (UTC), $2 slices (JSON list of slice, fingerprint and kept: the first days of periods that stay as they are)
-- Returns one row per slice: slice, fingerprint (of its live table), read_at (of the oldest of its latest control totals), totals
-- (values of loaded periods that were compared), differing (JSON list of start and metric of those that differed when they were
-- loaded). A run may read the control totals of some slices only, or a part of the days.
with readings as (
    select
        control,
        start_day,
        end_day,
        read_at,
        unnest(metrics) as metric
    from ripen.control_readings
),

-- The latest night, as in control/moved, where few controls are asked for. Grouped, it takes a fifth of the time of a window function over 400 nights.
latest as (
    select
        r.control,
        r.metric,
        r.start_day,
        r.end_day,
        r.read_at
    from readings as r
    join (
        select
            control,
            metric,
            max(read_at) as read_at
        from readings
        group by control, metric
    ) as l on l.control = r.control and l.metric = r.metric and r.read_at > l.read_at - interval 24 hour
),

compared as (
    select
        p.slice,
        p.start_day,
        m.metric,
        max(n.read_at) as read_at,
        bool_or(list_contains(p.differing, m.metric)) as is_differing
    from ripen.slice_tables as t
    join ripen.slice_metrics as m on m.slice = t.slice
    join ripen.periods as p on p.slice = t.slice and p.fingerprint = t.fingerprint and p.age = m.age
    join ripen.loads as l on l.load_id = p.load_id and list_contains(l.metrics, m.metric)
    join latest as n
        on n.control = t.control and n.metric = m.metric and n.start_day <= p.start_day and n.end_day >= p.end_day
    left join (
        select unnest(from_json($2::json, '[{"slice":"VARCHAR","fingerprint":"VARCHAR","kept":["DATE"]}]'), max_depth := 2)
    ) as k on k.slice = p.slice and k.fingerprint = p.fingerprint
    -- A value that still grew when its total was read was not compared.
    where
        t.state = 'live'
        and p.whole
        and not coalesce(list_contains(k.kept, p.start_day), false)
        -- Rows that are known to be missing were told.
        and p.verdict <> 'unproven'
        and p.rejected = 0
        -- One that is not confirmed has no rows, whatever the service states.
        and p.state <> 'empty'
        and p.ends_at + to_seconds(m.comparable_seconds) <= least(n.read_at, $1::timestamp)
        -- On the night of the load, or later.
        and n.read_at > p.fetched_at - interval 12 hour
    group by p.slice, p.start_day, m.metric
)

select
    t.slice,
    t.fingerprint,
    strftime(coalesce(any_value(c.read_at), max(n.read_at)), '%Y-%m-%dT%H:%M:%SZ') as read_at,
    coalesce(any_value(c.totals), 0) as totals,
    coalesce(any_value(c.differing), '[]') as differing
from ripen.slice_tables as t
join ripen.slice_metrics as m on m.slice = t.slice
join latest as n on n.control = t.control and n.metric = m.metric
left join (
    select
        slice,
        min(read_at) as read_at,
        count(*) as totals,
        to_json(list({start: start_day, metric: metric}) filter (is_differing))::varchar as differing
    from compared
    group by slice
) as c on c.slice = t.slice
where t.state = 'live'
group by t.slice, t.fingerprint
