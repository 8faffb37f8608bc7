create or replace temp table staged as
select a.window_no, null::JSON as "_extra", unnest(s.r)
from (
    select filename, unnest(rows) as r
    from read_json(['/spool/it''s here.json'], format = 'unstructured', records = true, auto_detect = false, filename = true,
        maximum_object_size = 16777216, columns = {rows: 'STRUCT("day" VARCHAR, "app ""quoted""" VARCHAR, "order" VARCHAR, "o''brien said ""hi""_events" VARCHAR, "my event_revenue" VARCHAR, "value" VARCHAR, attr_dependency JSON)[]'})
) as s
join answers as a on a.path = s.filename
