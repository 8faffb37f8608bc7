-- Keeps the finality of the periods that `retain` is about to delete, for the Delta tables that keep them. A period that was
-- brought back in part is still released.
-- $1 slice, $2 fingerprint of the live table, $3 first day, $4 day after the last
-- Returns nothing.
insert into ripen.released by name
select
    f.slice,
    $2 as fingerprint,
    f.period,
    p.end_day,
    p.rows,
    f.metric,
    f.final_at,
    f.is_final
from ripen.finality as f
join ripen.slice_metrics as m on m.slice = f.slice and m.metric = f.metric
join ripen.periods as p
    on p.slice = f.slice and p.fingerprint = $2 and p.start_day = f.period and p.age = m.age
where
    f.slice = $1
    and f.period >= $3::date
    and f.period < $4::date
    and f.period not in (select period from ripen.released where slice = $1 and fingerprint = $2)
