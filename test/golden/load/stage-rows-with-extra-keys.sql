create or replace temp table staged as
select
    a.window_no,
    to_json(map_from_entries(list_filter([{'key': 'new "key" isn''t\plain', 'value': json_extract(s.r, '$."new \"key\" isn''t\\plain"')}, {'key': 'plain', 'value': json_extract(s.r, '$."plain"')}], lambda e: e.value is not null)))
        as "_extra",
    unnest(json_transform(s.r, '{"day":"VARCHAR","app \"quoted\"":"VARCHAR","order":"VARCHAR","o''brien said \"hi\"_events":"VARCHAR","my event_revenue":"VARCHAR","value":"VARCHAR","attr_dependency":"JSON"}'))
from (
    select filename, unnest(rows) as r
    from read_json(['/spool/it''s here.json'], format = 'unstructured', records = true, auto_detect = false, filename = true,
        maximum_object_size = 16777216, columns = {rows: 'JSON[]'})
) as s
join answers as a on a.path = s.filename
