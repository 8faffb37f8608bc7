-- How far the catalog's tables are from what they are to be: tables, columns and comments that lack or are too many.
-- $1 what tables and columns are to say, the column of a table being empty (JSON list)
-- Returns one row: differences.
with wanted as (
    select
        unnest(from_json($1::json, '[{"table":"VARCHAR","column":"VARCHAR","comment":"VARCHAR"}]'), recursive := true)
),
found as (
    select
        t.table_name as "table",
        '' as "column",
        t.comment
    from duckdb_tables() as t
    where t.database_name = current_database() and t.schema_name = 'main' and not t.temporary
    union all
    select
        c.table_name as "table",
        c.column_name as "column",
        c.comment
    from duckdb_columns() as c
    where c.database_name = current_database() and c.schema_name = 'main'
),
mine as (
    from found
    where "table" in (select "table" from wanted)
)
select count(*) as differences
from (
    (from wanted except from mine)
    union all
    (from mine except from wanted)
) as unlike
