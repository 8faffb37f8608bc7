-- Everything a database declares, so that a copy can be compared with its original.
-- A view counts by its columns: its text is not printed alike by the session that made it and by one that read it back.
-- Returns one row per table, view, column and sequence: what it is, and its type with its comment.
select
    'table' as kind,
    concat_ws('.', schema_name, table_name) as name,
    comment as said
from duckdb_tables()
where database_name = current_database() and not temporary
union all
select
    'view' as kind,
    concat_ws('.', schema_name, view_name) as name,
    comment as said
from duckdb_views()
where database_name = current_database() and not internal
union all
select
    'column' as kind,
    concat_ws('.', schema_name, table_name, column_index, column_name) as name,
    concat_ws(chr(10), data_type, is_nullable, comment) as said
from duckdb_columns()
where database_name = current_database() and not internal
union all
select
    'sequence' as kind,
    concat_ws('.', schema_name, sequence_name) as name,
    comment as said
from duckdb_sequences()
where database_name = current_database()
order by kind, name
