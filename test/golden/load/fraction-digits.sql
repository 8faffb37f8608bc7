select max(length(rtrim(split_part(cast("my event_revenue" as VARCHAR), '.', 2), '0'))) as digits
from "ripen typed"
where "window," = 3 and "part," = 1
