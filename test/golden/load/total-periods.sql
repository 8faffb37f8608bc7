create or replace temp table before_totals as
select
    "day" as period,
    count(*) as "row count",
    sum("o'brien said ""hi""_events") as "o'brien said ""hi""_events",
    sum("my event_revenue") as "my event_revenue"
from main."daily"
where "day" >= DATE '2026-01-05' and "day" < DATE '2026-01-08'
group by 1
