insert into ripen.restatements
with loads as (
    select unnest(
        from_json($3::json, '[{"load_id":"BIGINT","seen_at":"TIMESTAMP","start_day":"DATE","end_day":"DATE"}]'),
        recursive := true
    )
),

both_totals as materialized (
    select * from "ripen before" full join "ripen after" using (p)
)

select
    $1, m.p, m.metric, m.before, m.after, i.seen_at, i.load_id,
    coalesce(
        h.sound_at >= h.ends_at + to_seconds(f.horizon_seconds + f.settle_seconds)
        and not coalesce(list_contains(h.immature, m.metric), false),
        false
    ) as after_final,
    m.before_text, m.after_text
from (
select
    p,
    metric,
    age,
    try_cast(b as DECIMAL(34, 12)) as before,
    try_cast(a as DECIMAL(34, 12)) as after,
    regexp_replace(b::varchar, '\.0*$|(\.\d*[1-9])0+$', '\1') as before_text,
    regexp_replace(a::varchar, '\.0*$|(\.\d*[1-9])0+$', '\1') as after_text
from (
    select
        p,
        unnest(['o''brien said "hi"_events']) as metric,
        '' as age,
        unnest([b0]) as b,
        unnest([a0]) as a
    from both_totals
)
where b is distinct from a
union all
select
    p,
    metric,
    age,
    try_cast(b as DECIMAL(34, 12)) as before,
    try_cast(a as DECIMAL(34, 12)) as after,
    regexp_replace(b::varchar, '\.0*$|(\.\d*[1-9])0+$', '\1') as before_text,
    regexp_replace(a::varchar, '\.0*$|(\.\d*[1-9])0+$', '\1') as after_text
from (
    select
        p,
        unnest(['my event_revenue']) as metric,
        '' as age,
        unnest([b1]) as b,
        unnest([a1]) as a
    from both_totals
)
where b is distinct from a
) as m
join loads as i on i.start_day <= m.p and m.p < i.end_day
join ripen.periods as h on h.slice = $1 and h.fingerprint = $2 and h.start_day = m.p and h.age = m.age
join ripen.loads as l on l.load_id = h.load_id and list_contains(l.metrics, m.metric)
left join ripen.slice_metrics as f on f.slice = $1 and f.metric = m.metric
returning load_id::varchar as load_id, period
