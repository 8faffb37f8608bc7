-- What failed of slices in the last sync and lies before the days they cover now, of windows of which no period is held there.
-- $1 run_id of this run, $2 the slices (JSON list of slice and start_day, the first day that is covered)
-- Returns slice, first_day and last_day (inclusive), in order.
with earlier as (
    select summary
    from ripen.runs
    where command = 'sync' and run_id <> $1 and summary is not null
    order by run_number desc
    limit 1
),

failed as (
    select unnest(from_json(summary -> '$.failures', '[{"slice": "VARCHAR", "window": "VARCHAR"}]')) as failure
    from earlier
),

covered as (
    select unnest(from_json($2::json, '[{"slice":"VARCHAR","start_day":"DATE"}]'), recursive := true)
),

windows as (
    select distinct
        c.slice,
        try_cast(split_part(f.failure.window, ':', 1) as date) as first_day,
        least(try_cast(split_part(f.failure.window, ':', 2) as date), c.start_day - 1) as last_day
    from failed as f
    join covered as c on c.slice = f.failure.slice
)

select
    w.slice,
    w.first_day,
    w.last_day
from windows as w
where
    w.first_day <= w.last_day
    and not exists (
        select 1
        from ripen.periods as p
        where p.slice = w.slice and p.start_day <= w.last_day and p.end_day > w.first_day
    )
order by w.slice, w.first_day
