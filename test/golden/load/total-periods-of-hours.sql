create or replace temp table after_totals as
select
    cast("hour" as DATE) as period,
    count(*) as "row count",
    sum("o'brien said ""hi""_events") as "o'brien said ""hi""_events",
    sum("my event_revenue") as "my event_revenue"
from main."daily"
where "hour" >= TIMESTAMP '2026-01-05' and "hour" < TIMESTAMP '2026-01-08'
group by 1
