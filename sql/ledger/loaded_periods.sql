-- The periods of slices under each meaning, with the metrics their newest load brought. One text is read several times
-- faster than ten columns of a thousand rows.
-- $1 slices (JSON list)
-- Returns one row per slice and fingerprint that has any: periods, a JSON list in order of their first days; metrics is a text of a JSON list.
select
    p.slice,
    p.fingerprint,
    to_json(
        list(
            {
                age: p.age,
                start_day: p.start_day,
                end_day: p.end_day,
                asked_start: p.asked_start,
                asked_end: p.asked_end,
                fetched_at: p.fetched_at,
                requested_at: l.requested_at,
                rows: p.rows,
                rejected: p.rejected,
                empty_runs: p.empty_runs,
                verdict: p.verdict,
                computed_at: p.computed_at,
                immature: p.immature,
                metrics: to_json(l.metrics)::varchar
            }
            order by p.start_day
        )
    )::varchar as periods
from ripen.periods as p
join ripen.loads as l on l.load_id = p.load_id
where p.slice in (select unnest(from_json($1::json, '["VARCHAR"]')))
group by p.slice, p.fingerprint
