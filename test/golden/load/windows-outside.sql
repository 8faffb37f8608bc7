select distinct t."window," as window_no
from "ripen totals" as t
join "ripen windows" as w on w.window_no = t."window,"
where t.p < w.start_day or t.p >= w.end_day
