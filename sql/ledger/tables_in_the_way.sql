-- The tables of `main`: a view that ripen makes of a slice cannot take the name of one.
-- Returns one row per table: table_name.
select table_name
from duckdb_tables()
where database_name = current_database() and schema_name = 'main' and not temporary
