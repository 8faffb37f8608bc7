-- The tables of a database.
-- Returns one row per table that lasts: its schema and its name.
select
    schema_name,
    table_name
from duckdb_tables()
where database_name = current_database() and not temporary
order by schema_name, table_name
