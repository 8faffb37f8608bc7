-- How far the rows of each live slice were looked at for partners: up to the newest load of any run that succeeded while
-- the table was live. A run that was killed, stopped or failed may have ended before it looked, and a replay looks only
-- where it loaded.
-- Returns slice, load_id (0 when none were looked at), known_at of the answer among them that was asked for last.
select
    t.slice,
    coalesce(max(l.load_id), 0) as load_id,
    max(l.known_at) as known_at
from ripen.slice_tables as t
left join ripen.runs as r on
    r.status = 'succeeded'
    and r.command <> 'replay'
    and r.finished_at >= t.live_at
left join ripen.loads as l on l.run_id = r.run_id
where t.state = 'live'
group by t.slice
