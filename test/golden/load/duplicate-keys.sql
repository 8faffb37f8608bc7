with twice as materialized (
    select hash(window_no, "day", "app ""quoted""", "order", "attr_dependency") as digest from typed group by 1 having count(*) > 1
)
select
    window_no,
    count(*) as copies,
    count(distinct {'o''brien said "hi"_events': "o'brien said ""hi""_events", 'my event_revenue': "my event_revenue", 'value': "value"}) as versions,
    to_json({'day': "day", 'app "quoted"': "app ""quoted""", 'order': "order", 'attr_dependency': "attr_dependency"})::varchar as key,
    to_json(list_distinct(list({'o''brien said "hi"_events': "o'brien said ""hi""_events", 'my event_revenue': "my event_revenue", 'value': "value"})))::varchar as found
from typed
where hash(window_no, "day", "app ""quoted""", "order", "attr_dependency") in (select digest from twice)
group by window_no, "day", "app ""quoted""", "order", "attr_dependency"
having count(*) > 1
