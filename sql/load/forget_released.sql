-- Forgets released periods: those of the days a load brings back, or all of a dropped table. A cube's period is brought back
-- only with the last age that copies have, because their file of it is replaced as a whole.
-- $1 slice, $2 fingerprint, $3 first day, $4 day after the last; both null for all of them
-- Returns nothing.
delete from ripen.released
where
    slice = $1
    and fingerprint = $2
    and ($3::date is null or (
        period >= $3::date
        and period < $4::date
        and period not in (
            select r.period
            from ripen.released as r
            join ripen.slice_metrics as m on m.slice = r.slice and m.metric = r.metric
            left join ripen.periods as p
                on p.slice = r.slice and p.fingerprint = r.fingerprint and p.start_day = r.period and p.age = m.age
            where r.slice = $1 and r.fingerprint = $2 and p.age is null
        )
    ))
