insert into main."daily" ("day", "app ""quoted""", "order", "o'brien said ""hi""_events", "my event_revenue", "value", "attr_dependency", "_extra", "_load_id")
select "day", "app ""quoted""", "order", "o'brien said ""hi""_events", "my event_revenue", "value", "attr_dependency", "_extra", 42
from typed
where window_no = 3
