-- The apps that filters-data listed before and no longer lists.
-- Returns in order of app_token: app_token; names, those that it alone ever had; is_untold, whether another app had one of
-- its names too, or none is known; last_load, the newest load before the run that missed the app.
with changes as (
    select
        c.name[6:] as app_token,
        c.change,
        c.before,
        c.after,
        r.run_number
    from ripen.schema_changes as c
    join ripen.runs as r on r.run_id = c.run_id
    where
        c.object = 'catalog'
        and c.name like 'apps %'
        and c.change in ('item appeared', 'item vanished', 'name changed')
),

lost as (
    select
        app_token,
        max(run_number) as run_number
    from changes
    where change <> 'name changed'
    group by app_token
    having max_by(change, run_number) = 'item vanished'
),

had as (
    select distinct
        app_token,
        unnest([before, after]) as name
    from changes
    union
    select
        c.id as app_token,
        c.name
    from ripen.catalog as c
    where c.filter = 'apps'
),

names as (
    select
        app_token,
        name,
        count(*) over (partition by name) > 1 as is_shared
    from had
    where name <> ''
)

select
    app_token,
    (select coalesce(list(n.name order by n.name), []) from names as n where n.app_token = lost.app_token and not n.is_shared) as names,
    (select coalesce(bool_or(n.is_shared), true) from names as n where n.app_token = lost.app_token) as is_untold,
    (
        select coalesce(max(l.load_id), 0)
        from ripen.loads as l
        join ripen.runs as r on r.run_id = l.run_id
        where r.run_number < lost.run_number
    ) as last_load
from lost
order by app_token
