select
    window_no,
    [sum("o'brien said ""hi""_events")::varchar, sum("my event_revenue")::varchar] as sums,
    [sum(abs("o'brien said ""hi""_events"::double)), sum(abs("my event_revenue"::double))] as magnitudes
from (select distinct window_no, "day", "app ""quoted""", "order", attr_dependency, "o'brien said ""hi""_events", "my event_revenue" from typed where window_no = 3)
group by window_no
