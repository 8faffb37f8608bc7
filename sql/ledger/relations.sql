-- The tables and views as they stand, in a form that tells whether one was lost or altered. The columns of views are not
-- looked at, as that takes three times as long: a view that was made again has lost its comment too. A view that was read
-- back from the file has other quotes than one just made (measured: of DOUBLE).
-- Returns one row per table or view: name (with its schema), state.
select
    schema_name || '.' || table_name as name,
    md5(concat_ws(chr(10), replace(sql, '"', ''), comment)) as state
from duckdb_tables()
where database_name = current_database() and not temporary
union all
select
    schema_name || '.' || view_name as name,
    md5(concat_ws(chr(10), replace(sql, '"', ''), comment)) as state
from duckdb_views()
where database_name = current_database() and not internal and not temporary
