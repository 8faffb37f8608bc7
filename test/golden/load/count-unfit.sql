select
    count(*) filter (where "o'brien said ""hi""_events" is not null and try_cast("o'brien said ""hi""_events" as BIGINT) is distinct from "o'brien said ""hi""_events") as m0,
    count(*) filter (where "my event_revenue" is not null and try_cast("my event_revenue" as DECIMAL(18,6)) is distinct from "my event_revenue") as m1,
    count(*) filter (where "value" is not null and try_cast("value" as DOUBLE) is distinct from "value") as m2
from "ripen typed"
where "window," = 3 and "day" >= DATE '2026-01-05' and "day" < DATE '2026-01-08'
