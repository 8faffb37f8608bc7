-- How many periods a load restated.
-- $1 load_id
-- Returns one row: periods.
select count(distinct period) as periods
from ripen.restatements
where load_id = $1::bigint
