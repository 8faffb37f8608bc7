-- The control totals that differ now from those that stood when their period was loaded, of values that no longer grow by
-- themselves. A difference in the last digits of a double is none. Of a period that was loaded before its control totals were ever
-- read, the first ones stand for those.
-- $1 as-of instant (UTC), $2 slices (JSON list of slice, fingerprint and protected_load: final periods up to that load stay)
-- Returns one row per slice: slice, moved (JSON list of start, age, metric, before, after, isFinal).
with cells as (
    select
        t.slice,
        t.control,
        p.start_day,
        p.age,
        p.fetched_at,
        m.metric,
        coalesce(
            p.trusted_at >= p.ends_at + to_seconds(m.horizon_seconds + m.settle_seconds)
            and not coalesce(list_contains(p.immature, m.metric), false),
            false
        ) as is_final
    from ripen.slice_tables as t
    join ripen.periods as p on p.slice = t.slice and p.fingerprint = t.fingerprint
    join ripen.slice_metrics as m on m.slice = p.slice and m.age = p.age
    join ripen.loads as l on l.load_id = p.load_id and list_contains(l.metrics, m.metric)
    join (
        select unnest(from_json($2::json, '[{"slice":"VARCHAR","fingerprint":"VARCHAR","protected_load":"BIGINT"}]'), max_depth := 2)
    ) as s on s.slice = t.slice and s.fingerprint = t.fingerprint
    where
        t.control is not null
        and not coalesce(p.state = 'final' and p.load_id <= s.protected_load, false)
        and p.whole
        and p.ends_at + to_seconds(m.comparable_seconds) <= $1::timestamp
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
        c.is_final,
        n.starts_at,
        arg_min_null(n.value, n.seen_at) as first,
        arg_max_null(n.value, n.seen_at) as after
    from ripen.control_totals as n
    join cells as c
        on c.control = n.control and c.metric = n.metric and c.start_day = n.starts_at::date and n.seen_at > c.fetched_at
    group by all
),

earlier as (
    select
        l.*,
        count(b.seen_at) > 0 as is_stated,
        arg_max_null(b.value, b.seen_at) as stated
    from later as l
    left join ripen.control_totals as b
        on b.control = l.control and b.metric = l.metric and b.starts_at = l.starts_at and b.seen_at <= l.fetched_at
    group by all
),

compared as (
    select
        e.*,
        -- The service stated nothing when the period was loaded, if its control totals had been read.
        case
            when e.is_stated then e.stated
            when not exists (
                select 1
                from ripen.control_readings as r
                where
                    r.control = e.control
                    and r.read_at <= e.fetched_at
                    and r.start_day <= e.start_day
                    and r.end_day > e.start_day
                    and list_contains(r.metrics, e.metric)
            ) then e.first
        end as before
    from earlier as e
)

select
    slice,
    to_json(
        list({start: start_day::varchar, age: age, metric: metric, before: before, after: after, "isFinal": is_final} order by starts_at)
    )::varchar as moved
from compared
where
    before is distinct from after
    and not coalesce(abs(before - after) <= 1e-12 * greatest(abs(before), abs(after)), false)
group by slice
