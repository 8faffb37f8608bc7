select t.window_no, count(*) as rows, min(t."day")::varchar as example
from typed as t
join windows as w using (window_no)
where t."day" < w.start_day or t."day" >= w.end_day
group by t.window_no
