select 3 as window_no, count(*) as rows, min("day")::varchar as example
from "ripen typed"
where "window," = 3 and not ("day" >= DATE '2026-01-05' and "day" < DATE '2026-01-08')
