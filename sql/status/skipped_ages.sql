-- What leaving out some ages would have cost the final periods of a slice: totals that were read at such an age and differed
-- from what would have been held then.
-- $1 slice, $2 ages left out, each with the age fetched before it (JSON list)
-- Returns one row: totals read, how many differed, and by how much at most, as a share of the final total.
with skipped as (
    select unnest(from_json($2::json, '[{"age":"INTEGER","held_since":"INTEGER"}]'), recursive := true)
),

final_totals as (
    select
        p.start_day,
        p.end_day,
        p.ends_at,
        f.metric,
        m.horizon_seconds,
        t.fingerprint
    from ripen.slice_tables as t
    join ripen.periods as p on p.slice = t.slice and p.fingerprint = t.fingerprint
    join ripen.finality as f on f.slice = p.slice and f.period = p.start_day and f.is_final
    join ripen.slice_metrics as m on m.slice = f.slice and m.metric = f.metric and m.additive
    where t.slice = $1 and t.state = 'live'
),

looked_at as (
    select distinct
        f.start_day,
        f.end_day,
        f.ends_at,
        f.metric,
        s.age,
        s.held_since
    from final_totals as f
    join skipped as s on s.age * 86400 <= f.horizon_seconds
    join ripen.loads as l
        on
            l.slice = $1
            and l.fingerprint = f.fingerprint
            and l.start_day <= f.start_day
            and l.end_day >= f.end_day
            and list_contains(l.metrics, f.metric)
            and date_diff('day', f.end_day, (l.known_at + (f.end_day::timestamp - f.ends_at))::date) + 1 = s.age
),

moves as (
    select
        r.period,
        r.metric,
        r.load_id,
        r.before::double as before,
        r.after::double as after,
        date_diff('day', f.end_day, (r.seen_at + (f.end_day::timestamp - f.ends_at))::date) + 1 as age,
        last_value(r.after::double) over (
            partition by r.period, r.metric order by r.load_id rows between unbounded preceding and unbounded following
        ) as final_total
    from ripen.restatements as r
    join final_totals as f on f.start_day = r.period and f.metric = r.metric
    where r.slice = $1
),

differed as (
    select
        l.start_day,
        l.metric,
        l.age,
        arg_max(m.after, m.load_id) - arg_min(m.before, m.load_id) as missed,
        any_value(m.final_total) as final_total
    from looked_at as l
    join moves as m on m.period = l.start_day and m.metric = l.metric and m.age > l.held_since and m.age <= l.age
    group by l.start_day, l.metric, l.age
    having missed <> 0
)

select
    (select count(*) from looked_at) as totals,
    (select count(*) from differed) as differed,
    (select max(abs(d.missed / nullif(d.final_total, 0))) from differed as d) as most
