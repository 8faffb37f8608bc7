create or replace temp view "ripen staged" as
select
    window_no as "window,",
    part_no as "part,",
    to_json(nullif(map_from_entries(list_filter(list_zip(['new "key" isn''t\plain', 'plain'], json_extract(r, ['/new "key" isn''t\plain', '/plain'])), lambda e: e[2] is not null)), map([]::varchar[], []::json[]))) as "_extra",
    unnest(json_transform(r, '{"day":"VARCHAR","app \"quoted\"":"VARCHAR","order":"VARCHAR","o''brien said \"hi\"_events":"VARCHAR","my event_revenue":"VARCHAR","value":"VARCHAR","attr_dependency":"JSON"}'))
from (
    select a.window_no, a.part_no, unnest(d.rows) as r
    from "ripen documents" as d
    join "ripen answers" as a on a.path = d.filename
)
