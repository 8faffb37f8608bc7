-- Records what was odd and did not stop a run.
-- $1 run_id, $2 slice, $3 first day, $4 day after the last, $5 code, $6 message; slice and days null where it is about none
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
