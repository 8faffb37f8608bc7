select "window," as window_no, cast("hour" as DATE) as start_day, count(*) as rows
from "ripen typed"
group by 1, 2
