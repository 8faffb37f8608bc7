-- Horizons of one slice that repeated fetches speak against, and what another one means for what is held.
-- $1 slice
-- Returns one row per metric: the horizon and the proposed one in days, how many final totals changed, and the periods, with
-- their rows, whose age lies between both: what would be asked for again, or be final at once.
select
    e.metric,
    e.horizon_days,
    e.proposed_days,
    e.looks,
    e.changed_after_final,
    count(p.start_day) as periods,
    coalesce(sum(p.rows), 0) as rows
from ripen.horizon_evidence as e
join ripen.slice_metrics as m
    on m.slice = e.slice and m.metric = e.metric and m.horizon_seconds / 86400.0 = e.horizon_days
left join ripen.slice_tables as t on t.slice = e.slice and t.state = 'live'
left join ripen.periods as p
    on
        p.slice = e.slice
        and p.fingerprint = t.fingerprint
        and date_diff('second', p.ends_at, p.fetched_at) between
        86400 * least(e.horizon_days, e.proposed_days) and 86400 * greatest(e.horizon_days, e.proposed_days)
where e.slice = $1 and e.proposed_days is not null
group by e.metric, e.horizon_days, e.proposed_days, e.looks, e.changed_after_final, m.position
order by m.position
