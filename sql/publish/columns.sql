-- The columns of one table analysts query.
-- $1 table
-- Returns one row per column, in the table's order.
select
    column_name,
    data_type,
    comment
from duckdb_columns()
where database_name = current_database() and schema_name = 'main' and table_name = $1
order by column_index
