-- How many periods loads restated, of those from one load id on.
-- $1 load_id
-- Returns one row per load that restated any: load_id, periods.
select
    load_id::varchar as load_id,
    count(distinct period) as periods
from ripen.restatements
where load_id >= $1::bigint
group by all
