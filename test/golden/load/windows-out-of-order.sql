select distinct window_no
from (
    select "window," as window_no, "day" as date_here, lag("window,") over () as last_no,
        lag("day") over () as date_before
    from "ripen typed"
)
where window_no = last_no and date_here < date_before
