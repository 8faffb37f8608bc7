-- The columns of a slice's live table; none before it is loaded.
-- $1 slice
-- Returns one row per column: name.
select c.column_name as name
from ripen.slice_tables as t
join duckdb_columns() as c on c.schema_name = 'main' and c.table_name = t.slice
where t.slice = $1 and t.state = 'live'
