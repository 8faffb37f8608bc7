-- What the live table of each slice holds of each period. A stamp is equal only if the rows are: only a load or a change of
-- columns alters them, and the ids of both are never used again, not even by a warehouse that was restored.
-- Returns one row per slice and period: slice, start (first day), rows (about), stamp.
with changes as (
    select
        object as slice,
        string_agg(concat_ws(' ', run_id, name, change, epoch_us(seen_at)), '|' order by seen_at, run_id, name, change) as digest
    from ripen.schema_changes
    group by object
)

select
    p.slice,
    p.start_day::varchar as start,
    sum(p.rows)::varchar as rows,
    md5(
        concat_ws(
            '|',
            p.start_day,
            any_value(c.digest),
            string_agg(concat_ws(' ', p.age, l.load_id, l.run_id, epoch_us(l.loaded_at)), '|' order by p.age)
        )
    ) as stamp
from ripen.periods as p
join ripen.slice_tables as t on t.slice = p.slice and t.fingerprint = p.fingerprint and t.state = 'live'
join ripen.loads as l on l.load_id = p.load_id
left join changes as c on c.slice = p.slice
group by p.slice, p.start_day
order by p.slice, p.start_day
