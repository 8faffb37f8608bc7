-- How many windows of final cells the runs of a night have asked for again; a window that was divided counts as its parts.
-- $1 night (date)
-- Returns one row: windows.
select count(*) as windows
from ripen.loads as l
join ripen.runs as r on r.run_id = l.run_id and r.as_of::date = $1::date and r.command = 'sync'
where list_contains(l.reasons, 'audit')
