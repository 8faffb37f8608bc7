-- The tables and views of a schema that analysts query.
-- $1 schema
-- Returns one row per table or view that lasts, in order of its name: the name and its comment.
select
    table_name as name,
    comment
from duckdb_tables()
where database_name = current_database() and schema_name = $1 and not temporary
union all
select
    view_name as name,
    comment
from duckdb_views()
where database_name = current_database() and schema_name = $1 and not internal and not temporary
order by name
