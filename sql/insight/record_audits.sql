-- What audits found that are not recorded yet, also those of runs that were killed: the final cells of each audited window,
-- and how many of them had changed.
-- $1 what every seed begins with
-- Returns nothing.
insert into ripen.audits by name
select
    l.slice,
    l.start_day,
    l.end_day,
    l.known_at as audited_at,
    count(distinct p.start_day) as periods,
    count(*) as cells,
    (
        select count(*)
        from ripen.restatements as r
        where r.load_id = l.load_id and r.after_final
    ) as changed,
    $1 || strftime(n.as_of, '%Y-%m-%d') as seed,
    l.load_id
from ripen.loads as l
join ripen.runs as n on n.run_id = l.run_id and n.command = 'sync'
join ripen.periods as p on p.load_id = l.load_id
join ripen.finality as f on f.slice = l.slice and f.period = p.start_day and f.is_final
join ripen.slice_metrics as m on m.slice = l.slice and m.metric = f.metric and m.additive
where list_contains(l.reasons, 'audit') and not exists (select 1 from ripen.audits as a where a.load_id = l.load_id)
group by l.slice, l.start_day, l.end_day, l.known_at, l.load_id, n.as_of
