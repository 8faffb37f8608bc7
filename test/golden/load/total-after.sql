create or replace temp table "ripen after" as
select
    p,
    sum(n) as n,
    sum(s0) as a0,
    sum(s1) as a1
from "ripen totals"
where "window," in (1, 3)
group by 1
