-- The tables and views as they stand, in a form that tells whether one was lost or made by somebody else: whoever makes one
-- again leaves it without its comment. Their columns are not looked at, as that takes three times as long, nor the texts of
-- views, as one that was read back from the file is not written as one just made (measured).
-- Returns one row per table or view: name (with its schema), is_table, state.
select
    schema_name || '.' || table_name as name,
    true as is_table,
    coalesce(comment, '') as state
from duckdb_tables()
where database_name = current_database() and not temporary
union all
select
    schema_name || '.' || view_name as name,
    false as is_table,
    coalesce(comment, '') as state
from duckdb_views()
where database_name = current_database() and not internal and not temporary
