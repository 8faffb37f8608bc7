-- The periods of slices under each meaning, and their newest loads. One text is read several times faster than twenty columns of
-- a thousand rows.
-- $1 quarters of slices (JSON list of slice and quarter, its first day)
-- Returns one row per slice and fingerprint that has any: periods, a JSON list of rows of ripen.periods in order of their first
-- days; loads, a JSON list of load_id, requested_at and metrics of each load that a period names.
with periods as (
    select p.*
    from ripen.periods as p
    join ripen.loads as l on l.load_id = p.load_id
    semi join (
        select unnest(from_json($1::json, '[{"slice":"VARCHAR","quarter":"DATE"}]'), max_depth := 2)
    ) as q on q.slice = p.slice and q.quarter = date_trunc('quarter', p.start_day)
),

loads as (
    select
        l.slice,
        l.fingerprint,
        to_json(list({load_id: l.load_id, requested_at: l.requested_at, metrics: l.metrics}))::varchar as loads
    from ripen.loads as l
    where l.load_id in (select load_id from periods)
    group by l.slice, l.fingerprint
)

select
    p.slice,
    p.fingerprint,
    to_json(list(p order by p.start_day))::varchar as periods,
    any_value(l.loads) as loads
from periods as p
join loads as l on l.slice = p.slice and l.fingerprint = p.fingerprint
group by p.slice, p.fingerprint
