-- What will the 7-day revenue of each week of installs be, as far as that can be said?
-- Adds the days that are final to the projections of the others; a week with a day of which history says too little has no figure,
-- and says why.
-- Returns one row per install week, newest first: the days that are final and projected, the value known now, the one to expect and
-- its interval.
with cells as (
    select
        n.day,
        n.all_revenue_total_d7 as value,
        n.all_revenue_total_d7 as expected,
        n.all_revenue_total_d7 as low,
        n.all_revenue_total_d7 as high,
        'final' as basis
    from network_daily_final as n
    where n.all_revenue_total_d7 is not null
    union all
    select
        p.day,
        p.value,
        p.projected,
        p.low,
        p.high,
        p.basis
    from network_daily_projected as p
    where p.metric = 'all_revenue_total_d7'
),

weeks as (
    select
        date_trunc('week', day)::date as install_week,
        count(distinct day) filter (basis = 'final') as final_days,
        count(distinct day) filter (basis <> 'final' and expected is not null) as projected_days,
        sum(value)::double as known,
        bool_and(expected is not null) as is_expected,
        sum(expected)::double as expected,
        sum(low)::double as low,
        sum(high)::double as high,
        string_agg(distinct basis, ', ') filter (expected is null) as missing
    from cells
    group by install_week
)

select
    install_week,
    final_days,
    projected_days,
    round(known, 2) as known,
    case when is_expected then round(expected, 2) end as expected,
    case when is_expected then round(low, 2) end as low,
    case when is_expected then round(high, 2) end as high,
    missing
from weeks
order by install_week desc
