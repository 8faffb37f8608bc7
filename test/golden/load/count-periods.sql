select "window," as window_no, p as start_day, sum(n)::bigint as rows
from "ripen totals"
group by 1, 2
