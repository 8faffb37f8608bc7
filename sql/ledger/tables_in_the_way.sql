-- Tables that have the names of views ripen makes of a slice; the view with its links gives way to one.
-- $1 slice
-- Returns one row per table: table_name.
select table_name
from duckdb_tables()
where
    database_name = current_database()
    and schema_name = 'main'
    and not temporary
    and table_name in ($1 || '_final', $1 || '_cohorts', $1 || '_maturation', $1 || '_projected')
order by table_name
