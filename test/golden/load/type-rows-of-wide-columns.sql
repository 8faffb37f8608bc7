create or replace temp table "ripen typed" as
select
    "window,",
    "part,",
    "day",
    "app ""quoted""",
    "order",
    "DECIMAL(38,0)",
    "DECIMAL(30,12)",
    "DECIMAL(38,26)",
    "attr_dependency",
    "_extra",
    ("DECIMAL(38,0)" is null and "text,0" is not null and trim("text,0") <> '')
        or ("DECIMAL(30,12)" is null and "text,1" is not null and trim("text,1") <> '')
        or ("DECIMAL(38,26)" is null and "text,2" is not null and trim("text,2") <> '') as "odd,"
from (
    select
        s."window,",
        s."part,",
        case when regexp_full_match(s."day", '[0-9]{4}-[0-9]{2}-[0-9]{2}') then try_cast(s."day" as DATE) end as "day",
        s."app ""quoted""" as "app ""quoted""",
        s."order" as "order",
        case
            when regexp_full_match(s."DECIMAL(38,0)", '-?[0-9]{1,18}(\.[0-9]{0,0}0*)?') then cast(split_part(s."DECIMAL(38,0)", '.', 1) as DECIMAL(18,0))::DECIMAL(38,0)
        end as "DECIMAL(38,0)",
        case
            when regexp_full_match(s."DECIMAL(30,12)", '-?[0-9]{1,18}(\.[0-9]{0,12}0*)?') then cast(cast(split_part(s."DECIMAL(30,12)", '.', 1) as DECIMAL(18,0))::DECIMAL(30,12) + cast(concat(if(starts_with(s."DECIMAL(30,12)", '-'), '-0.', '0.'), split_part(s."DECIMAL(30,12)", '.', 2)) as DECIMAL(18,12))::DECIMAL(30,12) as DECIMAL(30,12))
        end as "DECIMAL(30,12)",
        case
            when regexp_full_match(s."DECIMAL(38,26)", '-?[0-9]{1,12}(\.[0-9]{0,18}0*)?') then cast(cast(split_part(s."DECIMAL(38,26)", '.', 1) as DECIMAL(18,0))::DECIMAL(38,26) + cast(concat(if(starts_with(s."DECIMAL(38,26)", '-'), '-0.', '0.'), split_part(s."DECIMAL(38,26)", '.', 2)) as DECIMAL(18,18))::DECIMAL(38,26) as DECIMAL(38,26))
        end as "DECIMAL(38,26)",
        s."DECIMAL(38,0)" as "text,0",
        s."DECIMAL(30,12)" as "text,1",
        s."DECIMAL(38,26)" as "text,2",
        s.attr_dependency,
        s."_extra"
    from "ripen staged" as s
    where true
)
