create or replace temp table "ripen rejected" as
select
    "window,",
    "part,",
    "day",
    "app ""quoted""",
    "order",
    "o'brien said ""hi""_events",
    "my event_revenue",
    "value",
    "attr_dependency",
    "_extra",
    ("o'brien said ""hi""_events" is null and "text,0" is not null and trim("text,0") <> '')
        or ("my event_revenue" is null and "text,1" is not null and trim("text,1") <> '')
        or ("value" is null and "text,2" is not null and trim("text,2") <> '') as "odd,"
from (
    select
        s."window,",
        s."part,",
        case when regexp_full_match(s."day", '[0-9]{4}-[0-9]{2}-[0-9]{2}') then try_cast(s."day" as DATE) end as "day",
        s."app ""quoted""" as "app ""quoted""",
        s."order" as "order",
        case
            when regexp_full_match(s."o'brien said ""hi""_events", '-?[0-9]{1,18}(\.[0-9]{0,0}0*)?') then cast(s."o'brien said ""hi""_events" as BIGINT)
            else cast(p0.plain as BIGINT)
        end as "o'brien said ""hi""_events",
        case
            when regexp_full_match(s."my event_revenue", '-?[0-9]{1,12}(\.[0-9]{0,6}0*)?') then cast(s."my event_revenue" as DECIMAL(18,6))
            else cast(p1.plain as DECIMAL(18,6))
        end as "my event_revenue",
        case
            when regexp_full_match(s."value", '[-+]?[0-9]{1,200}(\.[0-9]*)?([eE][-+]?[0-9]{1,2})?') then cast(s."value" as DOUBLE)
        end as "value",
        s."o'brien said ""hi""_events" as "text,0",
        s."my event_revenue" as "text,1",
        s."value" as "text,2",
        s.attr_dependency,
        s."_extra"
    from "ripen staged" as s
    left join "ripen plain texts" as p0 on p0.metric = 'o''brien said "hi"_events' and p0.text = s."o'brien said ""hi""_events"
    left join "ripen plain texts" as p1 on p1.metric = 'my event_revenue' and p1.text = s."my event_revenue"
    where coalesce(s."o'brien said ""hi""_events" in (select text from "ripen not numbers" where metric = 'o''brien said "hi"_events'), false) or coalesce(s."value" in (select text from "ripen not numbers" where metric = 'value'), false)
)
