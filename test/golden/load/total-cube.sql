create or replace temp table "ripen after" as
select "day" as p, metric, age, count(*) as n, count_if("value" <> 0) as z, regexp_replace(sum("value")::varchar, '\.0*$|(\.\d*[1-9])0+$', '\1') as s
from main."daily"
where "day" >= DATE '2026-01-05' and "day" < DATE '2026-01-08' and metric in ('o''brien said "hi"_events', 'my event_revenue', 'value')
group by 1, 2, 3
