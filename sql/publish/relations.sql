-- The tables and views that analysts query, with their columns. The engine looks at every column of every view for any of
-- them, so all are read at once.
-- Returns one row per column, in the order of schema, name and column: schema_name, relation, is_table, relation_comment,
-- name, type, comment.
with relations as (
    select
        schema_name,
        table_name as relation,
        true as is_table,
        comment as relation_comment
    from duckdb_tables()
    where database_name = current_database() and not temporary
    union all
    select
        schema_name,
        view_name as relation,
        false as is_table,
        comment as relation_comment
    from duckdb_views()
    where database_name = current_database() and not internal and not temporary
)

select
    r.schema_name,
    r.relation,
    r.is_table,
    r.relation_comment,
    c.column_name as name,
    c.data_type as type,
    c.comment
from relations as r
inner join duckdb_columns() as c
    on c.database_name = current_database() and c.schema_name = r.schema_name and c.table_name = r.relation
order by r.schema_name, r.relation, c.column_index
