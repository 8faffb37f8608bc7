create or replace temp table "ripen after" as
select
    p,
    unnest(['', 'o''brien said "hi"_events', 'my event_revenue']) as metric,
    '' as age,
    unnest([n, 0, 0])::bigint as n,
    0 as z,
    unnest([null, regexp_replace(s0::varchar, '\.0*$|(\.\d*[1-9])0+$', '\1'), regexp_replace(s1::varchar, '\.0*$|(\.\d*[1-9])0+$', '\1')])::varchar as s
from (
select cast("hour" as DATE) as p, count(*) as n, sum("o'brien said ""hi""_events") as s0, sum("my event_revenue") as s1
from main."daily"
where "hour" >= TIMESTAMP '2026-01-05' and "hour" < TIMESTAMP '2026-01-08'
group by 1
)
