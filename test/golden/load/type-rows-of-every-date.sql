create or replace temp table typed as
select
    s.window_no,
    case when regexp_full_match(s."hour", '[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}') then try_cast(s."hour" as TIMESTAMP) end as "hour",
    case when regexp_full_match(s."day", '[0-9]{4}-[0-9]{2}-[0-9]{2}') then try_cast(s."day" as DATE) end as "day",
    case when regexp_full_match(s."week", '[0-9]{4}-[0-9]{2}-[0-9]{2} - [0-9]{4}-[0-9]{2}-[0-9]{2}') then try_cast(left(s."week", 10) as DATE) end as "week",
    case when regexp_full_match(s."month", '[0-9]{4}-[0-9]{2}') then try_cast(s."month" || '-01' as DATE) end as "month",
    case when regexp_full_match(s."quarter", 'Q[1-4] [0-9]{4}') then make_date(try_cast(right(s."quarter", 4) as INTEGER), try_cast(s."quarter"[2] as INTEGER) * 3 - 2, 1) end as "quarter",
    case when regexp_full_match(s."year", '[0-9]{4}') then try_cast(s."year" || '-01-01' as DATE) end as "year",
    case when s."o'brien said ""hi""_events" is null or trim(s."o'brien said ""hi""_events") = '' then null else cast(split_part(s."o'brien said ""hi""_events", '.', 1) as BIGINT)::BIGINT end as "o'brien said ""hi""_events",
    case when s."my event_revenue" is null or trim(s."my event_revenue") = '' then null else cast(s."my event_revenue" as DECIMAL(18,6))::DECIMAL(18,6) end as "my event_revenue",
    case when s."value" is null or trim(s."value") = '' then null else cast(s."value" as DOUBLE)::DOUBLE end as "value",
    s.attr_dependency,
    s."_extra"
from staged as s
where true 
