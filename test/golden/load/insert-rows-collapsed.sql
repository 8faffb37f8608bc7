insert into main."daily" ("day", "app ""quoted""", "order", "o'brien said ""hi""_events", "my event_revenue", "value", "attr_dependency", "_extra", "_load_id")
select distinct on ("day", "app ""quoted""", "order", "attr_dependency") "day", "app ""quoted""", "order", cast("o'brien said ""hi""_events" as BIGINT), cast("my event_revenue" as DECIMAL(18,6)), cast("value" as DOUBLE), "attr_dependency", "_extra", 42
from "ripen typed"
where "window," = 3 and true
