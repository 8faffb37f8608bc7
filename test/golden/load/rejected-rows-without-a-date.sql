select
    s."window," as window_no,
    'o''brien said "hi"_events' as metric,
    null as day,
    concat('o''brien said "hi"_events: ', n.reason, ': ', s."o'brien said ""hi""_events") as reason,
    json_object('app "quoted"', s."app ""quoted""", 'o''brien said "hi"_events', s."o'brien said ""hi""_events", 'my event_revenue', s."my event_revenue", 'value', s."value", 'attr_dependency', s."attr_dependency") as "row"
from "ripen staged" as s
join "ripen not numbers" as n on n.metric = 'o''brien said "hi"_events' and n.text = s."o'brien said ""hi""_events"
union all
select
    s."window," as window_no,
    'value' as metric,
    null as day,
    concat('value: ', n.reason, ': ', s."value") as reason,
    json_object('app "quoted"', s."app ""quoted""", 'o''brien said "hi"_events', s."o'brien said ""hi""_events", 'my event_revenue', s."my event_revenue", 'value', s."value", 'attr_dependency', s."attr_dependency") as "row"
from "ripen staged" as s
join "ripen not numbers" as n on n.metric = 'value' and n.text = s."value"
