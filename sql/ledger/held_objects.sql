-- How many tables and views a database holds, and whether ripen's ledger is among them.
select
    count(*) as objects,
    count(*) filter (where schema_name = 'ripen' and name = 'migrations') as ledger
from (
    select schema_name, table_name as name from duckdb_tables() where not temporary
    union all
    select schema_name, view_name from duckdb_views() where not internal and not temporary
)
