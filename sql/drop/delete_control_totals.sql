-- Deletes the control totals of one slice, except those of periods that another slice with the same control totals has.
-- $1 slice, $2 the day before which its periods are deleted; null for every period
-- Returns nothing.
delete from ripen.control_totals as c
using ripen.slice_tables as t
where t.slice = $1
    and t.control = c.control
    and ($2::date is null or c.starts_at < $2::date)
    and c.starts_at < coalesce(
        (
            select min(p.start_day)
            from ripen.slice_tables as o
            join ripen.periods as p on p.slice = o.slice and p.fingerprint = o.fingerprint
            where o.control = t.control and o.slice <> $1
        ),
        'infinity'::timestamp
    )
