-- Keeps the finality of the periods that `retain` is about to delete, for the Delta tables that keep them.
-- $1 slice, $2 fingerprint of the live table, $3 first day, $4 day after the last
-- Returns nothing.
insert into ripen.released by name
with periods as (
    select
        start_day,
        max(end_day) as end_day,
        sum(rows)::bigint as rows
    from ripen.periods
    where slice = $1 and fingerprint = $2 and start_day >= $3::date and start_day < $4::date
    group by start_day
)

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
join periods as p on p.start_day = f.period
where f.slice = $1
