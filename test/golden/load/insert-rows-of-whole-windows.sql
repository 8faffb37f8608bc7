insert into main."daily" ("day", "app ""quoted""", "order", "o'brien said ""hi""_events", "my event_revenue", "value", "attr_dependency", "_extra", "_load_id")
select "day", "app ""quoted""", "order", "o'brien said ""hi""_events", "my event_revenue", "value", "attr_dependency", "_extra", "load,"
from (
select *, ([null, 41, null, 42]["window," + 1])::bigint as "load,"
from (
select * from there
)
)
