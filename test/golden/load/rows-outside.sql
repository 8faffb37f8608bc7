select t."window," as window_no, count(*) as rows, min(t."day")::varchar as example
from "ripen typed" as t
join "ripen windows" as w on w.window_no = t."window,"
where t."day" < w.start_day or t."day" >= w.end_day
group by 1
