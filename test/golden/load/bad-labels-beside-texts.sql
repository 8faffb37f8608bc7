select
    s."window," as window_no,
    'day' as dimension,
    coalesce(any_value(s."day"), 'null') as label
from "ripen staged" as s
where case when regexp_full_match(s."day", '[0-9]{4}-[0-9]{2}-[0-9]{2}') then try_cast(s."day" as DATE) end is null
group by s."window,"
