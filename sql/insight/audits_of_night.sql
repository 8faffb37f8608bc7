-- How many audits the runs of a night have drawn and loaded.
-- $1 night (date)
-- Returns one row: draws.
select count(distinct (d.slice, d.period)) as draws
from ripen.audit_draws as d
join ripen.runs as r on r.run_id = d.run_id and r.as_of::date = $1::date
join ripen.loads as l
    on l.run_id = d.run_id and l.slice = d.slice and l.start_day <= d.period and d.period < l.end_day
