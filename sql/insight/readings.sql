-- The totals that each fetch found in the periods of some slices: the present totals, led back through the restatements by loads
-- whose values were not deleted since.
-- $1 the tables (JSON list of slice, fingerprint, start_day, the first day of the history, and metrics); reads the temporary table
-- "ripen period totals" (slice, start_day, metric, value)
-- Returns one row per slice and metric: its periods in order, each with its last day in days since 1970, the newest load, whether it is stored,
-- and of each fetch, in order of loads, the age, the total (none is 0), and whether it was final by the horizon that the metric has
-- now (JSON, as 62,000 values of lists take twice as long to hand over). Periods that are not whole, fetches before the end of the period and unproven ones are left out; a period that is not stored soundly has no final reading.
with tables as materialized (
    select t.slice, t.fingerprint, t.start_day, t.metrics
    from (
        select
            unnest(
                from_json(
                    $1::json,
                    '[{"slice":"VARCHAR","fingerprint":"VARCHAR","start_day":"DATE","metrics":["VARCHAR"]}]'
                )
            ) as t
    )
),

periods as (
    select
        p.*,
        p.load_id as held_load_id,
        t.metrics
    from ripen.periods as p
    join tables as t on t.slice = p.slice and t.fingerprint = p.fingerprint and t.start_day <= p.start_day
    where p.whole
),

loads as (
    select load_id, slice, fingerprint, start_day, end_day, known_at, verdict, rows_rejected, unnest(metrics) as metric
    from ripen.loads
    where slice in (select slice from tables)
),

fetches as (
    select
        p.slice,
        p.start_day,
        p.end_day,
        p.ends_at,
        p.trusted_at,
        p.immature,
        p.held_load_id,
        l.load_id,
        l.known_at as fetched_at,
        m.metric,
        m.horizon_seconds + m.settle_seconds as settles_after
    from periods as p
    join ripen.slice_metrics as m
        on m.slice = p.slice and m.age = p.age and m.additive and list_contains(p.metrics, m.metric)
    join loads as l
        on
            l.slice = p.slice
            and l.metric = m.metric
            and l.fingerprint = p.fingerprint
            and l.start_day <= p.start_day
            and l.end_day >= p.end_day
            and l.known_at >= p.ends_at
            and l.verdict <> 'unproven'
            and l.rows_rejected = 0
),

moves as (
    select
        r.slice,
        r.period,
        r.metric,
        r.load_id,
        coalesce(r.before::double, r.before_text::double) as before,
        coalesce(r.after::double, r.after_text::double) as after
    from ripen.restatements as r
    join loads as l on l.load_id = r.load_id and l.metric = r.metric
    join tables as t on t.slice = r.slice and t.fingerprint = l.fingerprint and t.start_day <= r.period
),

found as (
    select
        f.*,
        case
            when past.load_id is not null then past.after
            when next.load_id is not null then next.before
            else t.value
        end as value
    from fetches as f
    left join "ripen period totals" as t on t.slice = f.slice and t.start_day = f.start_day and t.metric = f.metric
    asof left join moves as past
        on past.slice = f.slice and past.period = f.start_day and past.metric = f.metric and past.load_id <= f.load_id
    asof left join moves as next
        on next.slice = f.slice and next.period = f.start_day and next.metric = f.metric and next.load_id > f.load_id
),

readings as (
    select
        slice,
        metric,
        start_day,
        end_day,
        load_id,
        load_id = held_load_id as is_held,
        date_diff('day', end_day, (fetched_at + (end_day::timestamp - ends_at))::date)::integer + 1 as age,
        coalesce(value, 0)::double as value,
        coalesce(
            trusted_at >= ends_at + to_seconds(settles_after)
            and fetched_at >= ends_at + to_seconds(settles_after)
            and not (load_id = held_load_id and coalesce(list_contains(immature, metric), false)),
            false
        ) as is_final
    from found
),

by_period as (
    select
        slice,
        metric,
        start_day,
        date_diff('day', date '1970-01-01', end_day) - 1 as last_day,
        max(load_id)::varchar as load_id,
        bool_or(is_held) as is_held,
        list_sort(list({load_id: load_id, age: age, value: value, is_final: is_final})) as fetches
    from readings
    group by slice, metric, start_day, end_day
)

select
    slice,
    metric,
    to_json(list(p order by start_day))::varchar as periods
from by_period as p
group by slice, metric
order by slice, metric
