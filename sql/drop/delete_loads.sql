-- Deletes the loads of one slice that end on or before a day, except those whose rows a period still has.
-- $1 slice, $2 day
delete from ripen.loads
where slice = $1
    and end_day <= $2::date
    and load_id not in (select load_id from ripen.periods where slice = $1)
