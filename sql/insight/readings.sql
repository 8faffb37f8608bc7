-- What each fetch found the totals of the periods of a slice to be: the totals as they are, led back through the restatements.
-- $1 slice, $2 fingerprint, $3 the first day of the history; reads the temporary table "ripen period totals" (start_day, metric, value)
-- Returns one row per metric: its periods in order, each with its last day in days since 1970, the newest load, whether it is held,
-- and of each fetch, in order of loads, the age, the total (none is 0), and whether it was final by the horizon that the metric has
-- now (JSON, as 62,000 values of lists take twice as long to hand over). Periods that are not whole, fetches before the end of the period and unproven ones are left out; a period that is held unsound has no final reading.
with periods as (
    select
        p.*,
        p.load_id as held_load_id
    from ripen.periods as p
    where p.slice = $1 and p.fingerprint = $2 and p.start_day >= $3::date and p.whole
),

fetches as (
    select
        p.start_day,
        p.end_day,
        p.ends_at,
        p.sound_at,
        p.immature,
        p.held_load_id,
        l.load_id,
        l.known_at as fetched_at,
        m.metric,
        m.horizon_seconds + m.settle_seconds as settles_after
    from periods as p
    join ripen.slice_metrics as m on m.slice = p.slice and m.age = p.age and m.additive
    join (
        select load_id, slice, fingerprint, start_day, end_day, known_at, verdict, rows_rejected, unnest(metrics) as metric
        from ripen.loads
    ) as l
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
        r.period,
        r.metric,
        r.load_id,
        coalesce(r.before::double, r.before_text::double) as before,
        coalesce(r.after::double, r.after_text::double) as after
    from ripen.restatements as r
    join ripen.loads as l on l.load_id = r.load_id and l.fingerprint = $2
    where r.slice = $1 and r.period >= $3::date
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
    left join "ripen period totals" as t on t.start_day = f.start_day and t.metric = f.metric
    asof left join moves as past
        on past.period = f.start_day and past.metric = f.metric and past.load_id <= f.load_id
    asof left join moves as next
        on next.period = f.start_day and next.metric = f.metric and next.load_id > f.load_id
),

readings as (
    select
        metric,
        start_day,
        end_day,
        load_id,
        load_id = held_load_id as is_held,
        date_diff('day', end_day, (fetched_at + (end_day::timestamp - ends_at))::date)::integer + 1 as age,
        coalesce(value, 0)::double as value,
        coalesce(
            sound_at >= ends_at + to_seconds(settles_after)
            and fetched_at >= ends_at + to_seconds(settles_after)
            and not (load_id = held_load_id and coalesce(list_contains(immature, metric), false)),
            false
        ) as is_final
    from found
),

by_period as (
    select
        metric,
        start_day,
        date_diff('day', date '1970-01-01', end_day) - 1 as last_day,
        max(load_id)::varchar as load_id,
        bool_or(is_held) as is_held,
        list_sort(list({load_id: load_id, age: age, value: value, is_final: is_final})) as fetches
    from readings
    group by metric, start_day, end_day
)

select
    metric,
    to_json(list(p order by start_day))::varchar as periods
from by_period as p
group by metric
order by metric
