create or replace temp table "ripen after" as
select
    p,
    unnest(['', 'DECIMAL(38,0)', 'DECIMAL(30,12)', 'DECIMAL(38,26)']) as metric,
    '' as age,
    unnest([n, 0, 0, 0])::bigint as n,
    0 as z,
    unnest([null, regexp_replace(cast(s0 as VARCHAR), '\.0*$|(\.\d*[1-9])0+$', '\1'), regexp_replace(s1::varchar, '\.0*$|(\.\d*[1-9])0+$', '\1'), regexp_replace(regexp_replace(regexp_replace(regexp_replace(cast(s2 as VARCHAR), '^-?', '\000000000000000000000000000'), '\d{26}$', '.\0'), '^(-?)0+(\d)', '\1\2'), '\.0*$|(\.\d*[1-9])0+$', '\1')])::varchar as s
from (
select p, sum(n) as n, sum(s0) as s0, sum(s1) as s1, sum(s2) as s2
from "ripen totals"
where "window," in (1, 3) and not r
group by 1
)
