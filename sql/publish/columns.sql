-- The columns of one table or view analysts query.
-- $1 schema, $2 table or view
-- Returns one row per column, in the table's order.
select
    column_name,
    data_type,
    comment
from duckdb_columns()
where database_name = current_database() and schema_name = $1 and table_name = $2
order by column_index
