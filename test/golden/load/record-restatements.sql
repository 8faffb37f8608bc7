insert into ripen.restatements
select $1, m.period, m.metric, m.before, m.after, $3::timestamp, $4::bigint
from (
select
    period,
    'o''brien said "hi"_events' as metric,
    try_cast(b."o'brien said ""hi""_events" as DECIMAL(38, 12)) as before,
    try_cast(a."o'brien said ""hi""_events" as DECIMAL(38, 12)) as after
from before_totals as b
full join after_totals as a using (period)
where b."o'brien said ""hi""_events" is distinct from a."o'brien said ""hi""_events"
union all
select
    period,
    'my event_revenue' as metric,
    try_cast(b."my event_revenue" as DECIMAL(38, 12)) as before,
    try_cast(a."my event_revenue" as DECIMAL(38, 12)) as after
from before_totals as b
full join after_totals as a using (period)
where b."my event_revenue" is distinct from a."my event_revenue"
) as m
join ripen.periods as p on p.slice = $1 and p.fingerprint = $2 and p.start_day = m.period
join ripen.loads as l on l.load_id = p.load_id and list_contains(l.metrics, m.metric)
