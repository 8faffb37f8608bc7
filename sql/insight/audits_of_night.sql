-- How many audits the runs of a night have drawn and loaded.
-- $1 night (date)
-- Returns one row: draws.
select count(distinct (d.slice, d.period)) as draws
from ripen_internal.audit_draws as d
where
    d.drawn_at::date = $1::date
    and exists (
        select 1
        from ripen.loads as l
        where l.run_id = d.run_id and l.slice = d.slice and l.start_day <= d.period and d.period < l.end_day
    )
