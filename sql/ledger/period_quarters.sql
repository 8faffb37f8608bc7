-- How many periods are recorded of slices, so that no statement reads more than fit into memory: a cube has one for each age.
-- $1 slices (JSON list)
-- Returns one row per slice and quarter, in order: slice, quarter (its first day), rows.
select
    slice,
    date_trunc('quarter', start_day)::date::varchar as quarter,
    count(*) as rows
from ripen.periods
where slice in (select unnest(from_json($1::json, '["VARCHAR"]')))
group by all
order by all
