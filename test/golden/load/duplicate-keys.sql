with twice as materialized (
    select hash("window,", "day", "app ""quoted""", "order", "attr_dependency") as digest from "ripen typed" where "window," in (0, 3) and "rejected," is null group by 1 having count(*) > 1
)
select
    window_no,
    count(*) as copies,
    count(distinct {v: row_values, e: row_extra}) as versions,
    to_json(row_key)::varchar as key,
    concat('[', array_to_string(list_distinct(list(concat(left(to_json(row_values)::varchar, -1), ',"_extra":' || row_extra, '}'))), ','), ']') as found
from (
    select
        "window," as window_no,
        {'day': "day", 'app "quoted"': "app ""quoted""", 'order': "order", 'attr_dependency': "attr_dependency"} as row_key,
        {'o''brien said "hi"_events': "o'brien said ""hi""_events", 'my event_revenue': "my event_revenue", 'value': "value"} as row_values,
        "_extra"::varchar as row_extra
    from "ripen typed"
    where "window," in (0, 3) and "rejected," is null and hash("window,", "day", "app ""quoted""", "order", "attr_dependency") in (select digest from twice)
)
group by window_no, row_key
having count(*) > 1
