-- The tables and views that analysts query, with their columns. The engine looks at every column of every view for any of
-- them, so all are read at once.
-- Returns one row per table or view, in the order of schema and name: schema, name, isTable, comment, columns (a JSON list of name,
-- type and comment in their order).
with relations as (
    select
        schema_name,
        table_name as relation,
        true as is_table,
        comment
    from duckdb_tables()
    where database_name = current_database() and not temporary
    union all
    select
        schema_name,
        view_name as relation,
        false as is_table,
        comment
    from duckdb_views()
    where database_name = current_database() and not internal and not temporary
)

select
    r.schema_name as schema,
    r.relation as name,
    r.is_table as "isTable",
    r.comment,
    to_json(list({name: c.column_name, type: c.data_type, comment: c.comment} order by c.column_index))::varchar as columns
from relations as r
inner join duckdb_columns() as c
    on c.database_name = current_database() and c.schema_name = r.schema_name and c.table_name = r.relation
group by all
order by r.schema_name, r.relation
