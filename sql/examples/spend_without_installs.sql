-- Where did money go without a single install: a sign that spend arrived before the installs, or was booked elsewhere?
-- Returns one row per app, network and day of the last two weeks loaded, the dearest first; load_id leads to ripen.loads.
with recent as (
    select
        day,
        app_token,
        app,
        network,
        sum(installs) as installs,
        sum(clicks) as clicks,
        sum(cost) as cost,
        max(_load_id) as load_id
    from network_daily
    where day > (select max(day) - 14 from network_daily)
    group by day, app_token, app, network
)

select
    r.day,
    r.app,
    r.network,
    r.clicks,
    r.cost,
    l.loaded_at
from recent as r
join ripen.loads as l on l.load_id = r.load_id
where r.cost > 0 and coalesce(r.installs, 0) = 0
order by r.cost desc, r.day, r.app, r.network
