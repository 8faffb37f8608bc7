insert into main."daily" ("day", "app ""quoted""", "order", "o'brien said ""hi""_events", "my event_revenue", "value", "attr_dependency", "_extra", "_load_id")
select "day", "app ""quoted""", "order", "o'brien said ""hi""_events", "my event_revenue", "value", "attr_dependency", "_extra", "load,"
from (
select *, (case when "window," = 1 and "day" >= DATE '2026-01-05' and "day" < DATE '2026-01-08' then 41 when "window," = 3 and "day" >= DATE '2026-01-15' and "day" < DATE '2026-01-16' then 42 end)::bigint as "load,"
from (
select * from there
)
where "rejected," is null and "load," is not null
)
order by "day"
