-- What stands in the way of the catalog's tables: a slice's table from before its name was reserved, or somebody's own.
-- The catalog's own tables are known by the end of their comment.
-- $1 the names of the catalog's tables (JSON list), $2 how their comments end
-- Returns one row per table or view: its name and its kind.
with wanted as (
    select unnest(from_json($1::json, '["VARCHAR"]')) as name
)
select
    t.table_name as name,
    case when s.slice is null then 'a table' else 'a slice''s table' end as kind
from duckdb_tables() as t
join wanted as w on lower(w.name) = lower(t.table_name)
left join ripen.slice_tables as s on s.slice = t.table_name and s.state = 'live'
where
    t.database_name = current_database()
    and t.schema_name = 'main'
    and not t.temporary
    and not coalesce(ends_with(t.comment, $2), false)
union all
select
    v.view_name as name,
    'a view' as kind
from duckdb_views() as v
join wanted as w on lower(w.name) = lower(v.view_name)
where
    v.database_name = current_database()
    and v.schema_name = 'main'
    and not v.internal
order by name
