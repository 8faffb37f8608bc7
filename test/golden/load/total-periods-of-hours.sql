create or replace temp table "ripen after" as
select
    cast("hour" as DATE) as p,
    count(*) as n,
    sum("o'brien said ""hi""_events") as a0,
    sum("my event_revenue") as a1
from main."daily"
where "hour" >= TIMESTAMP '2026-01-05' and "hour" < TIMESTAMP '2026-01-08'
group by 1
