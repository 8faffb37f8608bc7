select
    window_no,
    [sum("o'brien said ""hi""_events")::varchar, sum("my event_revenue")::varchar] as sums,
    [sum(abs("o'brien said ""hi""_events"::double)), sum(abs("my event_revenue"::double))] as magnitudes
from typed
group by window_no
