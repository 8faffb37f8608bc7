-- Deletes when the control totals of one slice were read, as far as these are deleted: else they would seem to have been missing once
-- they are read again. Those that another slice is compared with stay.
-- $1 slice, $2 the day before which its periods are deleted; null for every period
-- Returns nothing.
merge into ripen.control_readings as c
using (
    select
        t.control,
        least($2::date, min(p.start_day), 'infinity'::date) as first_day
    from ripen.slice_tables as t
    left join ripen.slice_tables as o on o.control = t.control and o.slice <> $1
    left join ripen.periods as p on p.slice = o.slice and p.fingerprint = o.fingerprint
    where t.slice = $1 and t.control is not null
    group by t.control
) as d
on c.control = d.control and c.start_day < d.first_day
when matched and c.end_day <= d.first_day then delete
when matched then update set start_day = d.first_day
