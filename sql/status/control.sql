-- How far the totals of one slice were compared with those of the service.
-- $1 slice, $2 as-of instant (UTC)
-- Returns at most one row: read_at (of the latest control totals), totals (values of loaded periods that were compared).
select
    strftime(max(n.read_at), '%Y-%m-%dT%H:%M:%SZ') as read_at,
    (
        select count(*)
        from ripen.periods as p
        join ripen.slice_metrics as m on m.slice = p.slice and m.age = p.age
        join (
            select
                control,
                metric,
                starts_at::date as start_day
            from ripen.control_totals
            group by all
        ) as c on c.control = t.control and c.metric = m.metric and c.start_day = p.start_day
        where
            p.slice = t.slice
            and p.fingerprint = t.fingerprint
            and p.whole
            and p.ends_at + to_seconds(m.comparable_seconds) <= $2::timestamp
    ) as totals
from ripen.slice_tables as t
join ripen.control_readings as n on n.control = t.control
where t.slice = $1 and t.state = 'live'
group by t.slice, t.fingerprint, t.control
