-- The metrics of the stored catalog: what patterns stand for.
-- $1 the lists of filters-data that hold metrics (JSON)
-- Returns one row per metric: id, sorted.
select distinct id
from ripen.catalog
where filter in (select unnest(from_json($1::json, '["VARCHAR"]')))
order by id
