-- Deletes which control totals of one slice were read when, except those that another slice is compared with too.
-- $1 slice
-- Returns nothing.
delete from ripen.control_readings as c
using ripen.slice_tables as t
where t.slice = $1
    and t.control = c.control
    and not exists (select 1 from ripen.slice_tables as o where o.control = t.control and o.slice <> $1)
