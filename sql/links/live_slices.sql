-- The live tables of slices and their columns.
-- Returns slice, table_name (quoted, with its schema), columns (in order, as a JSON list).
select
    t.slice,
    t.table_name,
    to_json(list(c.column_name order by c.column_index))::varchar as columns
from ripen.slice_tables as t
join duckdb_columns() as c on
    c.database_name = current_database()
    and c.schema_name = 'main'
    and c.table_name = t.slice
where t.state = 'live'
group by t.slice, t.table_name
order by t.slice
