-- An audit: did an app bring less than half of its usual installs on the newest day?
-- Usual is the median of the same weekday in the four weeks before.
-- Returns one row per app below that, the largest loss first.
with daily as (
    select
        app,
        day,
        sum(installs) as installs
    from network_daily
    group by app, day
),

latest as (
    select max(day) as day
    from network_daily
)

select
    d.app,
    l.day,
    coalesce(any_value(d.installs) filter (d.day = l.day), 0) as installs_now,
    median(d.installs) filter (d.day < l.day) as usual
from daily as d
join latest as l on d.day >= l.day - 28 and dayofweek(d.day) = dayofweek(l.day)
group by d.app, l.day
having
    count(*) filter (d.day < l.day) >= 3
    and coalesce(any_value(d.installs) filter (d.day = l.day), 0) < 0.5 * median(d.installs) filter (d.day < l.day)
order by usual - installs_now desc, d.app
