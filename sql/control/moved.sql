-- The control totals that differ now from those that stood when their period was loaded, of values that no longer grow by
-- themselves. A difference in the last digits of a double is none. Of a period that was loaded on a night without its control totals,
-- nobody knows whether they moved: it counts once the latest night read them. An answer that was computed earlier is compared with the
-- totals of that instant. Rows that did not move with their total may only be late: they are compared with the totals before that run,
-- once; if the rows of a slice were found to differ, for a week with the totals that stood when they last moved.
-- $1 as-of instant (UTC), $2 slices (JSON list of slice, fingerprint and kept: the first days of periods that stay as they are)
-- Returns one row per slice: slice, moved (JSON list of metric, age, isFinal, isKnown, and periods: a list of start, before and after).
with fetched as (
    select
        p.*,
        t.control,
        l.metrics,
        l.rows_fetched,
        r.read_at as run_read_at,
        -- The run that read on the night of the load.
        coalesce(r.run_id, case when e.read_at > p.fetched_at - interval 12 hour then e.run_id end) as read_by
    from ripen.slice_tables as t
    join (
        select unnest(from_json($2::json, '[{"slice":"VARCHAR","fingerprint":"VARCHAR","kept":["DATE"]}]'), max_depth := 2)
    ) as k on k.slice = t.slice and k.fingerprint = t.fingerprint
    join ripen.periods as p on p.slice = t.slice and p.fingerprint = t.fingerprint
    join ripen.loads as l on l.load_id = p.load_id
    left join (
        select
            control,
            run_id,
            min(read_at) as read_at
        from ripen.control_readings
        group by control, run_id
    ) as r on r.control = t.control and r.run_id = l.run_id
    asof left join (
        select
            control,
            read_at,
            max(run_id) as run_id
        from ripen.control_readings
        group by control, read_at
    ) as e on e.control = t.control and e.read_at <= p.fetched_at
    where
        t.control is not null
        and not coalesce(list_contains(k.kept, p.start_day), false)
        and p.whole
        -- One without rows that is not confirmed is due anyway.
        and p.state <> 'empty'
),

-- A run may read a part of the days, and the metrics of some slices.
read as (
    select
        p.control,
        p.read_by,
        p.start_day,
        flatten(list(n.metrics)) as metrics
    from (select distinct control, read_by, start_day from fetched) as p
    join ripen.control_readings as n
        on n.control = p.control and n.run_id = p.read_by and n.start_day <= p.start_day and n.end_day > p.start_day
    group by p.control, p.read_by, p.start_day
),

nightly as (
    select
        p.*,
        -- Few periods were read in part, so that a list is kept for those alone.
        case when not coalesce(list_has_all(n.metrics, p.metrics), false) then coalesce(n.metrics, []) end as read_metrics
    from fetched as p
    left join read as n on n.control = p.control and n.read_by = p.read_by and n.start_day = p.start_day
),

differing as (
    select distinct w.slice
    from ripen.warnings as w
    join ripen.runs as r on r.run_id = w.run_id
    where w.code = 'CONTROL_DIFFERS' and r.as_of > $1::timestamp - interval 7 day
),

cells as (
    select
        p.slice,
        p.control,
        p.start_day,
        p.age,
        p.fetched_at as loaded_at,
        p.load_id,
        p.fingerprint,
        coalesce(not list_contains(p.read_metrics, m.metric), false) as is_unread,
        least(p.fetched_at, p.computed_at) as fetched_at,
        case
            when m.additive and p.rows_fetched > 0
                then p.run_read_at - if(d.slice is null, to_microseconds(1), interval 7 day)
        end as late_since,
        m.metric,
        coalesce(
            p.trusted_at >= p.ends_at + to_seconds(m.horizon_seconds + m.settle_seconds)
            and not coalesce(list_contains(p.immature, m.metric), false),
            false
        ) as is_final
    from nightly as p
    join ripen.slice_metrics as m on m.slice = p.slice and m.age = p.age and list_contains(p.metrics, m.metric)
    left join differing as d on d.slice = p.slice
    where p.ends_at + to_seconds(m.comparable_seconds) <= $1::timestamp
),

-- Few totals are later than their load, so that only those are followed back.
later as (
    select
        c.slice,
        c.control,
        c.start_day,
        c.age,
        c.metric,
        c.fetched_at,
        c.late_since,
        c.is_final,
        c.load_id,
        c.fingerprint,
        n.starts_at,
        arg_min_null(n.value, n.seen_at) filter (where n.seen_at > c.fetched_at) as first,
        arg_max_null(n.value, n.seen_at) as after
    from ripen.control_totals as n
    join cells as c
        on
            c.control = n.control
            and c.metric = n.metric
            and c.start_day = n.starts_at::date
            and n.seen_at > least(c.fetched_at, c.late_since)
    where not c.is_unread
    group by all
),

-- When values last moved, or were first loaded.
earlier as (
    select
        l.slice,
        l.start_day,
        l.age,
        l.metric,
        greatest(min(coalesce(e.known_at, e.requested_at)), any_value(s.moved_at)) as moved_at
    from (select distinct slice, start_day, age, metric, fingerprint, load_id from later where late_since is not null) as l
    join ripen.loads as e
        on
            e.slice = l.slice
            and e.fingerprint = l.fingerprint
            and e.load_id < l.load_id
            and e.start_day <= l.start_day
            and e.end_day > l.start_day
            and list_contains(e.metrics, l.metric)
    left join (
        select
            slice,
            period,
            metric,
            max(seen_at) as moved_at
        from ripen.restatements
        group by slice, period, metric
    ) as s on s.slice = l.slice and s.period = l.start_day and s.metric = l.metric
    group by l.slice, l.start_day, l.age, l.metric
),

-- The latest instant at which the control totals had been read when the rows last moved, else before the load. Nobody knows whether
-- rows are late if they were not loaded before, or last moved on a night without control totals.
dated as (
    select
        l.*,
        max(r.read_at) filter (where r.read_at <= l.rows_at and r.read_at > l.moved_at - interval 12 hour) as rows_read_at,
        max(r.read_at) as load_read_at
    from (
        select
            l.* exclude (late_since),
            e.moved_at,
            greatest(e.moved_at, l.late_since) as rows_at
        from later as l
        left join earlier as e
            on e.slice = l.slice and e.start_day = l.start_day and e.age = l.age and e.metric = l.metric
    ) as l
    left join ripen.control_readings as r
        on
            r.control = l.control
            and r.read_at <= l.fetched_at
            and r.start_day <= l.start_day
            and r.end_day > l.start_day
            and list_contains(r.metrics, l.metric)
    group by all
),

latest as (
    select
        control,
        metric,
        start_day,
        end_day,
        read_at
    from (
        select
            control,
            start_day,
            end_day,
            read_at,
            unnest(metrics) as metric
        from ripen.control_readings
        where control in (select control from cells where is_unread)
    )
    qualify read_at > max(read_at) over (partition by control, metric) - interval 24 hour
),

compared as (
    select
        d.slice,
        d.start_day,
        d.age,
        d.metric,
        d.is_final,
        true as is_known,
        d.starts_at,
        d.after,
        -- The service stated nothing if there is no value. They may have been read only after the answer was computed.
        case
            when count(b.seen_at) > 0 or d.load_read_at is not null then arg_max_null(b.value, b.seen_at)
            else d.first
        end as before
    from dated as d
    left join ripen.control_totals as b
        on
            b.control = d.control
            and b.metric = d.metric
            and b.starts_at = d.starts_at
            and b.seen_at <= case when d.rows_read_at is null then d.fetched_at else least(d.fetched_at, d.rows_at) end
    group by d.slice, d.start_day, d.age, d.metric, d.is_final, d.starts_at, d.after, d.load_read_at, d.first
    union all by name
    select
        c.slice,
        c.start_day,
        c.age,
        c.metric,
        c.is_final,
        false as is_known,
        c.start_day::timestamp as starts_at
    from cells as c
    semi join latest as n
        on
            n.control = c.control
            and n.metric = c.metric
            and n.read_at > c.loaded_at
            and n.start_day <= c.start_day
            and n.end_day > c.start_day
    -- What the service states no longer it could not answer.
    semi join ripen.control_totals as v
        on v.control = c.control and v.metric = c.metric and v.starts_at::date = c.start_day and v.value is not null
    where c.is_unread
)

-- After a night without control totals these are all of them, and repeated names would fill the memory.
select
    slice,
    to_json(list({metric: metric, age: age, "isFinal": is_final, "isKnown": is_known, periods: periods}))::varchar as moved
from (
    select
        slice,
        metric,
        age,
        is_final,
        is_known,
        list({start: start_day, before: before, after: after} order by starts_at) as periods
    from compared
    where
        not is_known
        or before is distinct from after
        and not coalesce(abs(before - after) <= 1e-12 * greatest(abs(before), abs(after)), false)
    group by slice, metric, age, is_final, is_known
)
group by slice
