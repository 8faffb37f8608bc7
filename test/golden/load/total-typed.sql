create or replace temp table "ripen totals" as
select
    "window,",
    "part,",
    "day" as p,
    "rejected," is not null as r,
    count(*) as n,
    count(*) as v,
    sum("o'brien said ""hi""_events") as s0, sum(abs("o'brien said ""hi""_events"::double)) as g0, coalesce(count_if("o'brien said ""hi""_events" <> 0), 0) as z0,
    sum("my event_revenue") as s1, sum(abs("my event_revenue"))::double as g1, coalesce(count_if("my event_revenue" <> 0), 0) as z1
from "ripen typed"
group by all
