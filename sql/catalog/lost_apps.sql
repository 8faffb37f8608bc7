-- The apps that filters-data listed before and no longer lists.
-- Returns in order of app_token: app_token; app, the name if it is known and no listed app has it too; last_load, the newest load
-- before the run that missed the app.
with changes as (
    select
        c.name,
        c.change,
        c.before,
        r.run_number
    from ripen.schema_changes as c
    join ripen.runs as r on r.run_id = c.run_id
    where c.object = 'catalog' and c.name like 'apps %' and c.change in ('item appeared', 'item vanished')
),

lost as (
    select
        name[6:] as app_token,
        max_by(before, run_number) as app,
        max(run_number) as run_number
    from changes
    group by name
    having max_by(change, run_number) = 'item vanished'
)

select
    app_token,
    case when app not in (select c.name from ripen.catalog as c where c.filter = 'apps') then app end as app,
    (
        select coalesce(max(l.load_id), 0)
        from ripen.loads as l
        join ripen.runs as r on r.run_id = l.run_id
        where r.run_number < lost.run_number
    ) as last_load
from lost
order by app_token
