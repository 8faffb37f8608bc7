select
    count(*) filter (where "my event_revenue" is not null and cast(try_cast("my event_revenue" as DECIMAL(18,6)) as DECIMAL(22,10)) is distinct from "my event_revenue") as m0,
    count(*) filter (where "value" is not null and cast(cast(try_cast(cast("value" as VARCHAR) as DECIMAL(18,6)) as VARCHAR) as DOUBLE) is distinct from "value") as m1
from "ripen typed"
where "window," = 3 and "day" >= DATE '2026-01-05' and "day" < DATE '2026-01-08'
