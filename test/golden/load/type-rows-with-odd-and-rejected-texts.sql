create or replace temp table typed as
select
    s.window_no,
    case when regexp_full_match(s."day", '[0-9]{4}-[0-9]{2}-[0-9]{2}') then try_cast(s."day" as DATE) end as "day",
    s."app ""quoted""" as "app ""quoted""",
    s."order" as "order",
    case
        when s."o'brien said ""hi""_events" is null or trim(s."o'brien said ""hi""_events") = '' then null
        when regexp_full_match(s."o'brien said ""hi""_events", '-?[0-9]{1,18}(\.0*)?') then cast(split_part(s."o'brien said ""hi""_events", '.', 1) as BIGINT)::BIGINT
        else cast(coalesce(map_extract_value(o."o'brien said ""hi""_events", s."o'brien said ""hi""_events"), s."o'brien said ""hi""_events") as BIGINT)
    end as "o'brien said ""hi""_events",
    case
        when s."my event_revenue" is null or trim(s."my event_revenue") = '' then null
        when regexp_full_match(s."my event_revenue", '-?[0-9]{1,12}(\.[0-9]{0,6}0*)?') then cast(s."my event_revenue" as DECIMAL(18,6))::DECIMAL(18,6)
        else cast(coalesce(map_extract_value(o."my event_revenue", s."my event_revenue"), s."my event_revenue") as DECIMAL(18,6))
    end as "my event_revenue",
    case when s."value" is null or trim(s."value") = '' then null else cast(s."value" as DOUBLE)::DOUBLE end as "value",
    s.attr_dependency,
    s."_extra"
from staged as s
cross join (select (select map_from_entries(list({'key': text, 'value': plain})) from plain_texts where metric = 'o''brien said "hi"_events') as "o'brien said ""hi""_events", (select map_from_entries(list({'key': text, 'value': plain})) from plain_texts where metric = 'my event_revenue') as "my event_revenue") as o
where true and (s."o'brien said ""hi""_events" is null or s."o'brien said ""hi""_events" not in (select text from not_numbers where metric = 'o''brien said "hi"_events')) and (s."value" is null or s."value" not in (select text from not_numbers where metric = 'value'))
