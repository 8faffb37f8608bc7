-- Whether a slice's table changed since it was measured last: in this run, or in runs before it that were killed.
-- $1 slice, $2 run_id
-- Returns one row: unmeasured.
with unmeasured_runs as (
    select n.run_id
    from ripen.runs as n
    where
        n.run_id = $2
        or n.run_number > (
            select coalesce(max(e.run_number), 0)
            from ripen.runs as e
            where e.finished_at is not null
        )
)

select
    exists (select 1 from ripen.loads as l join unmeasured_runs as n on n.run_id = l.run_id where l.slice = $1)
    or exists (select 1 from ripen.schema_changes as c join unmeasured_runs as n on n.run_id = c.run_id where c.object = $1)
        as unmeasured
