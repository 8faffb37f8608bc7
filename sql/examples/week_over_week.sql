-- How do installs and spend of each network compare with the week before?
-- Only whole weeks, of seven days that were loaded once they were over. The newest one still gains late installs and restated spend,
-- so it looks smaller than it will be: is_final says whether both metrics of all its days can no longer change.
-- Returns one row per week and network, newest week first; changes are null if the week before is not whole, or the network
-- had no rows in it.
with days as (
    select
        f.period as day,
        date_trunc('week', f.period)::date as week,
        bool_and(f.is_final) as is_final
    from ripen.finality as f
    join ripen.slice_tables as t on t.slice = f.slice and t.state = 'live'
    join ripen.periods as p
        on p.slice = f.slice and p.fingerprint = t.fingerprint and p.start_day = f.period and p.state <> 'open'
    where f.slice = 'network_daily' and f.metric in ('installs', 'cost')
    group by f.period
),

whole_weeks as (
    select week, bool_and(is_final) as is_final
    from days
    group by week
    having count(*) = 7
),

weekly as (
    select
        w.week,
        w.is_final,
        n.network,
        sum(n.installs) as installs,
        sum(n.cost) as cost
    from whole_weeks as w
    join network_daily as n on n.day >= w.week and n.day < w.week + 7
    group by all
)

select
    this.week,
    this.network,
    this.is_final,
    this.installs,
    this.installs / nullif(before.installs, 0) - 1 as installs_change,
    this.cost,
    this.cost / nullif(before.cost, 0) - 1 as cost_change
from weekly as this
left join weekly as before on before.network is not distinct from this.network and before.week = this.week - 7
order by this.week desc, this.installs desc, this.network
