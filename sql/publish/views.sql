-- The views with the types of their columns as the file keeps them, which are those of when they were made. A view that was read
-- over this connection says what it gives now.
-- Returns one row per view, in the order of schema and name: schema_name, view_name, text (the statement that made the view), said
-- (its comment), columns (name, type, comment).
select
    v.schema_name,
    v.view_name,
    v.sql as text,
    v.comment as said,
    list({name: c.column_name, type: c.data_type, comment: c.comment} order by c.column_index) as columns
from duckdb_views() as v
inner join duckdb_columns() as c
    on c.database_name = current_database() and c.schema_name = v.schema_name and c.table_name = v.view_name
where v.database_name = current_database() and not v.internal and not v.temporary
group by all
order by v.schema_name, v.view_name
