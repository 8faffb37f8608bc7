-- Records a warning.
-- $1 run_id, $2 slice, $3 first day, $4 day after the last, $5 code, $6 message; slice and days are null if it concerns none
-- Returns nothing.
insert into ripen.warnings by name
select
    $1 as run_id,
    $2 as slice,
    $3::date as start_day,
    $4::date as end_day,
    $5 as code,
    $6 as message,
    now() at time zone 'UTC' as seen_at
