with twice as materialized (
    select hash("window,", "day", "app ""quoted""", "order", "attr_dependency") as digest from "ripen typed" where "window," in (0, 3) and "rejected," is null group by 1 having count(*) > 1
),
keyed as (
    select
        "window," as window_no,
        {'day': "day", 'app "quoted"': "app ""quoted""", 'order': "order", 'attr_dependency': "attr_dependency"} as row_key,
        {'o''brien said "hi"_events': "o'brien said ""hi""_events", 'my event_revenue': "my event_revenue", 'value': "value"} as row_values,
        "_extra" as row_extra,
        max(coalesce("_extra"::varchar, '')) over same_key is distinct from min(coalesce("_extra"::varchar, '')) over same_key as is_other
    from "ripen typed"
    where "window," in (0, 3) and "rejected," is null and hash("window,", "day", "app ""quoted""", "order", "attr_dependency") in (select digest from twice)
    window same_key as (partition by "window,", "day", "app ""quoted""", "order", "attr_dependency")
),
compared as (
    select
        *,
        (
            select list({p: path, k: key, t: type, a: atom::varchar, n: case type when 'ARRAY' then json_array_length(value) end} order by path, key)
            from json_tree(k.odd_extra)
            where parent is not null and type <> 'NULL'
        ) as extra_content
    from (select *, case when is_other then row_extra end as odd_extra from keyed) as k
)
select
    window_no,
    count(*) as copies,
    count(distinct {v: row_values, e: extra_content}) as versions,
    to_json(row_key)::varchar as key,
    concat('[', array_to_string(list_distinct(list(concat(left(to_json(row_values)::varchar, -1), ',"_extra":' || row_extra::varchar, '}'))), ','), ']') as found
from compared
group by window_no, row_key
having count(*) > 1
