-- Loads of runs that were killed since the last one that ended, of which a period is still held: whether their answers came into
-- the archive, nobody was left to see.
-- $1 run_id of this run
-- Returns slice, start_day, end_day (exclusive) and requested_at (UTC), in order.
select distinct
    l.slice,
    l.start_day,
    l.end_day,
    l.requested_at
from ripen.loads as l
join ripen.runs as n on n.run_id = l.run_id and n.command <> 'replay'
join ripen.periods as p on p.load_id = l.load_id
where
    n.run_id <> $1
    and n.finished_at is null
    and n.run_number > (select coalesce(max(e.run_number), 0) from ripen.runs as e where e.finished_at is not null)
order by l.slice, l.start_day, l.requested_at
