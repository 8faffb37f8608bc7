create or replace temp table "ripen typed" as
select
    "window,",
    "part,",
    "day",
    "app ""quoted""",
    "order",
    "DECIMAL(6,6)",
    "DECIMAL(18,18)",
    "attr_dependency",
    "_extra",
    ("DECIMAL(6,6)" is null and "text,0" is not null and trim("text,0") <> '')
        or ("DECIMAL(18,18)" is null and "text,1" is not null and trim("text,1") <> '') as "odd,"
from (
    select
        s."window,",
        s."part,",
        case when regexp_full_match(s."day", '[0-9]{4}-[0-9]{2}-[0-9]{2}') then try_cast(s."day" as DATE) end as "day",
        s."app ""quoted""" as "app ""quoted""",
        s."order" as "order",
        case
            when regexp_full_match(s."DECIMAL(6,6)", '-?0(\.[0-9]{0,6}0*)?') then cast(s."DECIMAL(6,6)" as DECIMAL(6,6))
        end as "DECIMAL(6,6)",
        case
            when regexp_full_match(s."DECIMAL(18,18)", '-?0(\.[0-9]{0,18}0*)?') then cast(s."DECIMAL(18,18)" as DECIMAL(18,18))
        end as "DECIMAL(18,18)",
        s."DECIMAL(6,6)" as "text,0",
        s."DECIMAL(18,18)" as "text,1",
        s.attr_dependency,
        s."_extra"
    from "ripen staged" as s
    where true
)
