-- The periods that stay as they were fetched, since an app was lost whose rows cannot be told from the others: one that has a final
-- age stays with all its ages. Metrics may have been added since.
-- $1 slices (JSON list of slice, fingerprint and protected_load, the newest load before an app was lost)
-- Returns one row per slice with such periods: slice, days (the first days of the periods).
with ages as (
    select
        p.slice,
        p.start_day,
        bool_and(
            coalesce(p.trusted_at >= p.ends_at + to_seconds(m.horizon_seconds + m.settle_seconds), false)
            and not coalesce(list_contains(p.immature, m.metric), false)
        ) as is_final
    from (
        select unnest(from_json($1::json, '[{"slice":"VARCHAR","fingerprint":"VARCHAR","protected_load":"BIGINT"}]'), max_depth := 2)
    ) as k
    join ripen.periods as p on p.slice = k.slice and p.fingerprint = k.fingerprint and p.load_id <= k.protected_load
    join ripen.loads as l on l.load_id = p.load_id
    join ripen.slice_metrics as m on m.slice = p.slice and m.age = p.age and list_contains(l.metrics, m.metric)
    group by p.slice, p.start_day, p.age
)

select
    slice,
    list(distinct start_day) as days
from ages
where is_final
group by slice
