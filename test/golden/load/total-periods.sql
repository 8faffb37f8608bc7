create or replace temp table "ripen before" as
select
    "day" as p,
    count(*) as n,
    sum("o'brien said ""hi""_events") as b0,
    sum("my event_revenue") as b1
from main."daily"
where "day" >= DATE '2026-01-05' and "day" < DATE '2026-01-08'
group by 1
union all
select
    "day" as p,
    count(*) as n,
    sum("o'brien said ""hi""_events") as b0,
    sum("my event_revenue") as b1
from main."daily"
where "day" >= DATE '2026-01-15' and "day" < DATE '2026-01-16'
group by 1
