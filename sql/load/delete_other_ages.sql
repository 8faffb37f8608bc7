-- Deletes the periods of ages that a cube no longer has. If a period would have no other, one stays, under an age that is to be loaded:
-- what was loaded stays covered.
-- $1 slice, $2 fingerprint, $3 the ages it has (JSON list)
-- Returns nothing.
merge into ripen.periods as p
using (
    select
        rowid as row_id,
        if(bool_or(is_kept) over days or row_number() over (days order by age) > 1, null, ages[1]) as new_age
    from (
        select
            rowid,
            start_day,
            age,
            from_json($3::json, '["VARCHAR"]') as ages,
            list_contains(from_json($3::json, '["VARCHAR"]'), age) as is_kept
        from ripen.periods
        where slice = $1 and fingerprint = $2
    )
    window days as (partition by start_day)
    qualify not is_kept
) as o
on p.rowid = o.row_id
when matched and o.new_age is null then delete
when matched then update set age = o.new_age
