-- The tables of the ledger with a column `slice`, and how their rows are dated.
-- Returns one row per table: its name with its schema, whether its rows have a last day, and whether they have a period.
select
    c.schema_name || '.' || c.table_name as table_name,
    bool_or(c.column_name = 'end_day') as has_days,
    bool_or(c.column_name = 'period') as has_period
from duckdb_columns() as c
join duckdb_tables() as t
    on t.database_name = c.database_name and t.schema_name = c.schema_name and t.table_name = c.table_name
where c.database_name = current_database() and c.schema_name in ('ripen', 'ripen_internal')
group by c.schema_name, c.table_name
having bool_or(c.column_name = 'slice')
order by c.schema_name, c.table_name
