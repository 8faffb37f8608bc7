select
    "window,", "part,", "day", "app ""quoted""", "order", "attr_dependency",
    any_value("o'brien said ""hi""_events") as "o'brien said ""hi""_events",
    any_value("my event_revenue") as "my event_revenue",
    any_value("value") as "value",
    list_reduce(list("_extra" order by "_extra"::varchar) filter (where "_extra" is not null), lambda a, b: json_merge_patch(a, b)) as "_extra",
    min("rejected,") as "rejected,"
from (
select *, row_number() over (partition by "window,", "part,", "day", "app ""quoted""", "order", "attr_dependency") as "copy," from (
select
    [1, 3][file_index::bigint + 1]::integer as "window,",
    [0, 2][file_index::bigint + 1]::integer as "part,",
    "day",
    "app ""quoted""",
    "order",
    cast("o'brien said ""hi""_events" as BIGINT) as "o'brien said ""hi""_events",
    cast("my event_revenue" as DECIMAL(18,6)) as "my event_revenue",
    cast("value" as DOUBLE) as "value",
    "attr_dependency",
    null::JSON as "_extra",
    null::VARCHAR as "rejected,"
from read_parquet(['/spool/it''s here.parquet', '/spool/b.parquet'], hive_partitioning = false)
)
union all
select *, row_number() over (partition by "window,", "part,", "day", "app ""quoted""", "order", "attr_dependency") as "copy," from (
select
    [3][file_index::bigint + 1]::integer as "window,",
    [2][file_index::bigint + 1]::integer as "part,",
    "day",
    "app ""quoted""",
    "order",
    cast("o'brien said ""hi""_events" as BIGINT) as "o'brien said ""hi""_events",
    cast("my event_revenue" as DECIMAL(18,6)) as "my event_revenue",
    cast("value" as DOUBLE) as "value",
    "attr_dependency",
    "_extra",
    null::VARCHAR as "rejected,"
from read_parquet(['/spool/e.parquet'], hive_partitioning = false)
)
)
group by "window,", "part,", "day", "app ""quoted""", "order", "attr_dependency", "copy,"
