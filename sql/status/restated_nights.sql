-- What moved in one slice, day by day of the loads that found it.
-- What a table that is being built has is no total of the slice yet.
-- $1 slice, $2 since which instant (UTC)
-- Returns one row per day (UTC) and metric, oldest day first: restated periods, and the net change of their totals.
select
    seen_at::date as seen_day,
    metric,
    count(distinct period) as periods,
    sum(coalesce(after, 0) - coalesce(before, 0))::double as change
from ripen.restatements
where
    slice = $1
    and seen_at >= $2::timestamp
    and load_id not in (
        select l.load_id
        from ripen.loads as l
        where
            l.slice = $1
            and l.fingerprint not in (
                select t.fingerprint
                from ripen.slice_tables as t
                where t.slice = $1 and t.state = 'live'
            )
    )
group by seen_day, metric
order by seen_day, metric
