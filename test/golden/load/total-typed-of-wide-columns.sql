create or replace temp table "ripen totals" as
select
    "window,",
    "part,",
    "day" as p,
    "rejected," is not null as r,
    count(*) as n,
    count(*) as v,
    sum(cast(replace(cast("DECIMAL(38,0)" as VARCHAR), '.', '') as BIGNUM)) as s0, sum(abs("DECIMAL(38,0)"::double)) as g0, coalesce(count_if("DECIMAL(38,0)" <> 0), 0) as z0,
    sum("DECIMAL(30,12)") as s1, sum(abs("DECIMAL(30,12)"::double)) as g1, coalesce(count_if("DECIMAL(30,12)" <> 0), 0) as z1,
    sum(cast(replace(cast("DECIMAL(38,26)" as VARCHAR), '.', '') as BIGNUM)) as s2, sum(abs("DECIMAL(38,26)"::double)) as g2, coalesce(count_if("DECIMAL(38,26)" <> 0), 0) as z2
from "ripen typed"
group by all
