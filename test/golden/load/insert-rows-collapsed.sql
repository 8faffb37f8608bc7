insert into main."daily" ("day", "app ""quoted""", "order", "o'brien said ""hi""_events", "my event_revenue", "value", "attr_dependency", "_extra", "_load_id")
select "day", "app ""quoted""", "order", "o'brien said ""hi""_events", "my event_revenue", "value", "attr_dependency", "_extra", "load,"
from (
select distinct on ("window,", "day", "app ""quoted""", "order", "attr_dependency") *, (case when "window," = 1 and true then 41 when "window," = 3 and true then 42 end)::bigint as "load,"
from (
select * from there
)
where "rejected," is null and "load," is not null
)
