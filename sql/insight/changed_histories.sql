-- The slices whose live tables changed since they were surely measured, in this run or since the last one that succeeded, and the
-- first day of the history from which their maturation is read.
-- $1 run_id, $2 days of history
-- Returns one row per slice: slice, start_day (of its oldest whole period; NULL without one) and how many periods the history has.
with unmeasured_runs as (
    select n.run_id
    from ripen.runs as n
    where
        n.run_id = $1
        or n.run_number > (
            select coalesce(max(e.run_number), 0)
            from ripen.runs as e
            where e.status = 'succeeded'
        )
),

changed as (
    select l.slice from ripen.loads as l join unmeasured_runs as n on n.run_id = l.run_id
    union
    select c.object from ripen.schema_changes as c join unmeasured_runs as n on n.run_id = c.run_id
),

periods as (
    select
        p.slice,
        p.start_day,
        p.whole and p.end_day > max(p.end_day) over (partition by p.slice) - $2::integer as is_read
    from ripen.periods as p
    join ripen.slice_tables as t on t.slice = p.slice and t.fingerprint = p.fingerprint and t.state = 'live'
)

select
    c.slice,
    min(p.start_day) filter (p.is_read) as start_day,
    count(*) filter (p.is_read) as periods
from changed as c
left join periods as p on p.slice = c.slice
group by c.slice
