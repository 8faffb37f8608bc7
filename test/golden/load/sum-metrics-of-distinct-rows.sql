select
    "window," as window_no,
    "part," as part_no,
    [sum("o'brien said ""hi""_events")::varchar, sum("my event_revenue")::varchar]::varchar[] as sums
from (
    select distinct "window,", "part,", "day", "app ""quoted""", "order", attr_dependency, "o'brien said ""hi""_events", "my event_revenue"
    from "ripen typed"
    where "window," in (3)
)
group by "window,", "part,"
