-- What failed of a slice in the last sync and lies before a day, of windows of which no period is held there.
-- $1 slice, $2 run_id of this run, $3 the day
-- Returns first_day and last_day (inclusive), in order.
with earlier as (
    select summary
    from ripen.runs
    where command = 'sync' and run_id <> $2 and summary is not null
    order by run_number desc
    limit 1
),

failed as (
    select unnest(from_json(summary -> '$.failures', '[{"slice": "VARCHAR", "window": "VARCHAR"}]')) as failure
    from earlier
),

windows as (
    select distinct
        try_cast(split_part(failure.window, ':', 1) as date) as first_day,
        least(try_cast(split_part(failure.window, ':', 2) as date), $3::date - 1) as last_day
    from failed
    where failure.slice = $1
)

select
    w.first_day,
    w.last_day
from windows as w
where
    w.first_day <= w.last_day
    and not exists (
        select 1 from ripen.periods as p where p.slice = $1 and p.start_day <= w.last_day and p.end_day > w.first_day
    )
order by w.first_day
