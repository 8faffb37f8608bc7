-- The live table of each slice with its columns, and the progress of the one being built beside it.
-- Returns one row per slice that has a table: slice, the columns of the live one with their comments (JSON list, null when there
-- is none), and the number of periods under construction (null when nothing is).
with columns as (
    select table_name, to_json(list({'name': column_name, 'comment': comment}))::varchar as columns
    from duckdb_columns()
    where database_name = current_database() and schema_name = 'main'
    group by table_name
)

select
    t.slice,
    any_value(c.columns) filter (t.state = 'live') as columns,
    case
        when bool_or(t.state = 'building') then count(distinct p.start_day) filter (t.state = 'building')
    end as building_periods
from ripen.slice_tables as t
left join ripen.periods as p on p.slice = t.slice and p.fingerprint = t.fingerprint
left join columns as c on c.table_name = t.slice
group by t.slice
