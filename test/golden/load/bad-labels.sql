select
    s."window," as window_no,
    'hour' as dimension,
    coalesce(any_value(s."hour"), 'null') as label
from "ripen staged" as s
where case when regexp_full_match(s."hour", '[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}') then try_cast(s."hour" as TIMESTAMP) end is null
group by s."window,"
union all
select
    s."window," as window_no,
    'day' as dimension,
    coalesce(any_value(s."day"), 'null') as label
from "ripen staged" as s
where case when regexp_full_match(s."day", '[0-9]{4}-[0-9]{2}-[0-9]{2}') then try_cast(s."day" as DATE) end is null
group by s."window,"
union all
select
    s."window," as window_no,
    'week' as dimension,
    coalesce(any_value(s."week"), 'null') as label
from "ripen staged" as s
where case when regexp_full_match(s."week", '[0-9]{4}-[0-9]{2}-[0-9]{2} - [0-9]{4}-[0-9]{2}-[0-9]{2}') then try_cast(left(s."week", 10) as DATE) end is null
group by s."window,"
union all
select
    s."window," as window_no,
    'month' as dimension,
    coalesce(any_value(s."month"), 'null') as label
from "ripen staged" as s
where case when regexp_full_match(s."month", '[0-9]{4}-[0-9]{2}') then try_cast(s."month" || '-01' as DATE) end is null
group by s."window,"
union all
select
    s."window," as window_no,
    'quarter' as dimension,
    coalesce(any_value(s."quarter"), 'null') as label
from "ripen staged" as s
where case when regexp_full_match(s."quarter", 'Q[1-4] [0-9]{4}') then make_date(try_cast(right(s."quarter", 4) as INTEGER), try_cast(s."quarter"[2] as INTEGER) * 3 - 2, 1) end is null
group by s."window,"
union all
select
    s."window," as window_no,
    'year' as dimension,
    coalesce(any_value(s."year"), 'null') as label
from "ripen staged" as s
where case when regexp_full_match(s."year", '[0-9]{4}') then try_cast(s."year" || '-01-01' as DATE) end is null
group by s."window,"
