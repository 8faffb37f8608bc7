-- What do readers see of the newest days?
select
    day,
    count(*) as "rows",
    sum(installs) as installs,
    round(sum(cost), 2) as cost
from network_daily
group by day
order by day desc
limit 3
