create or replace temp view staged as
select
    window_no,
    null::JSON as "_extra",
    unnest(json_transform(r, '{"day":"VARCHAR","app \"quoted\"":"VARCHAR","order":"VARCHAR","o''brien said \"hi\"_events":"VARCHAR","my event_revenue":"VARCHAR","value":"VARCHAR","attr_dependency":"JSON"}'))
from (
    select a.window_no, unnest(d.rows) as r
    from documents as d
    join answers as a on a.path = d.filename
)
