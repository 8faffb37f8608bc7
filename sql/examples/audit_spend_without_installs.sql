-- An audit: which networks cost more than 50 on one of the last seven days and brought no install?
-- Returns one row per day and network, the dearest first.
select
    day,
    network,
    sum(cost) as cost
from network_daily
where day > (select max(day) - 7 from network_daily)
group by day, network
having sum(cost) > 50 and coalesce(sum(installs), 0) = 0
order by cost desc, day, network
