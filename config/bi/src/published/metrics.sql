-- Up to which day is each metric final, how much of it is, and when was it fetched last?
-- The currency is what the column's own comment says; NULL where it is the account's.
-- Returns one row per metric, in the order of the table's columns.
select
    f.metric,
    count(*)::double as cells,
    (count(*) filter (where f.is_final))::double as final_cells,
    strftime(max(f.period) filter (where f.is_final), '%Y-%m-%d') as final_until,
    strftime(max(f.fetched_at), '%Y-%m-%d %H:%M') as fetched_at,
    nullif(regexp_extract(any_value(c.comment), 'money in ([A-Z]{3})', 1), '') as currency
from ripen.finality as f
join duckdb_columns() as c on c.schema_name = 'main' and c.table_name = f.slice and c.column_name = f.metric
where f.slice = 'network_daily'
group by f.metric
order by any_value(c.column_index)
