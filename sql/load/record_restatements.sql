-- Records totals that moved, of periods and metrics that were loaded before, and whether they were final then: as decimals of
-- twelve digits after the point, NULL where there are more than 22 before it, and as text with every digit. Sums of doubles depend
-- on the order of addition, so that those that are nearly equal did not move.
-- $1 the loads (JSON list of slice, fingerprint, load_id, seen_at, start_day, end_day), $2 the metrics that add up (JSON list of
-- slice, metric, is_double)
-- Returns load_id and period of each.
insert into ripen.restatements
with loads as (
    select unnest(
        from_json(
            $1::json,
            '[{"slice":"VARCHAR","fingerprint":"VARCHAR","load_id":"BIGINT","seen_at":"TIMESTAMP","start_day":"DATE","end_day":"DATE"}]'
        ),
        recursive := true
    )
),

metrics as (
    select unnest(from_json($2::json, '[{"slice":"VARCHAR","metric":"VARCHAR","is_double":"BOOLEAN"}]'), recursive := true)
),

totals as (
    select
        slice,
        p,
        metric,
        age,
        b.s as before,
        a.s as after,
        b.s::double as before_double,
        a.s::double as after_double
    from "ripen before" as b
    full join "ripen after" as a using (slice, p, metric, age)
    where b.s is distinct from a.s
)

select
    t.slice,
    t.p as period,
    t.metric,
    try_cast(t.before as decimal(34, 12)) as before,
    try_cast(t.after as decimal(34, 12)) as after,
    i.seen_at,
    i.load_id,
    coalesce(
        h.trusted_at >= h.ends_at + to_seconds(f.horizon_seconds + f.settle_seconds)
        and not coalesce(list_contains(h.immature, t.metric), false),
        false
    ) as after_final,
    t.before as before_text,
    t.after as after_text
from totals as t
join metrics as m on m.slice = t.slice and m.metric = t.metric
join loads as i on i.slice = t.slice and i.start_day <= t.p and t.p < i.end_day
join ripen.periods as h on h.slice = t.slice and h.fingerprint = i.fingerprint and h.start_day = t.p and h.age = t.age
join ripen.loads as l on l.load_id = h.load_id and list_contains(l.metrics, t.metric)
left join ripen.slice_metrics as f on f.slice = t.slice and f.metric = t.metric
where
    not m.is_double
    or not coalesce(
        abs(t.before_double - t.after_double) <= 1e-9 * greatest(abs(t.before_double), abs(t.after_double)),
        false
    )
returning load_id::varchar as load_id, period
