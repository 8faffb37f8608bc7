-- An audit: which partners brought installs on each of the seven days before the newest one, and none on that day?
-- Returns one row per partner, the largest first.
with latest as (
    select max(day) as day
    from network_daily
),

daily as (
    select
        n.partner_name,
        n.day,
        sum(n.installs) as installs
    from network_daily as n
    join latest as l on n.day >= l.day - 7
    group by n.partner_name, n.day
)

select
    d.partner_name,
    sum(d.installs) as installs_of_the_week
from daily as d
cross join latest as l
group by d.partner_name
having
    count(*) filter (d.day < l.day and d.installs > 0) = 7
    and count(*) filter (d.day = l.day and d.installs > 0) = 0
order by installs_of_the_week desc, d.partner_name
