select "window," as window_no, cast("day" as DATE)::varchar as day, '[' || "rejected," || ']' as rejected
from "ripen typed"
where "window," in (3) and "rejected," is not null
