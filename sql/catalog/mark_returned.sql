-- Makes every period due that was loaded while an app was missing which this run's listing has again; runs after `record_changes`.
-- $1 run id
-- Returns nothing.
update ripen.periods
set
    verdict = 'unproven',
    trusted_at = null,
    state = case when state = 'final' then 'maturing' else state end,
    next_refresh_at = fetched_at
where load_id in (
    select l.load_id
    from ripen.loads as l
    join ripen.runs as r on r.run_id = l.run_id
    where r.run_number >= (
        select min(run_number)
        from (
            select max(v.run_number) as run_number
            from ripen.schema_changes as c
            join ripen.runs as v on v.run_id = c.run_id
            where
                c.object = 'catalog'
                and c.change = 'item vanished'
                and c.name in (
                    select name
                    from ripen.schema_changes
                    where
                        run_id = $1
                        and object = 'catalog'
                        and name like 'apps %'
                        and change = 'item appeared'
                )
            group by c.name
        )
    )
)
