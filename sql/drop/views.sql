-- The views made of one slice.
-- $1 slice
-- Returns one row per view: its name.
select view_name
from duckdb_views()
where database_name = current_database()
    and schema_name = 'main'
    and view_name in ($1 || '_final', $1 || '_links', $1 || '_cohorts', $1 || '_maturation', $1 || '_projected')
order by view_name
