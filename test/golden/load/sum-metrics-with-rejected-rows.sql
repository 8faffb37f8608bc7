select
    "window," as window_no,
    "part," as part_no,
    [sum("o'brien said ""hi""_events")::varchar, sum("my event_revenue")::varchar]::varchar[] as sums,
    [sum(abs("o'brien said ""hi""_events"::double)), sum(abs("my event_revenue"::double))]::double[] as magnitudes,
    [count(*) filter (where "o'brien said ""hi""_events" <> 0), count(*) filter (where "my event_revenue" <> 0)]::varchar[] as non_zero
from (
    select "window,", "part,", "day", "app ""quoted""", "order", attr_dependency, "o'brien said ""hi""_events", "my event_revenue"
    from (from "ripen typed" union all by name from "ripen rejected")
    where "window," = 3
)
group by "window,", "part,"
