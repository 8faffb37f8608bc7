-- The tables of a database.
-- Returns one row per table that lasts: its schema, its name and its comment.
select
    schema_name,
    table_name,
    comment
from duckdb_tables()
where database_name = current_database() and not temporary
order by schema_name, table_name
