select
    [[1], [3], [0, null, 5, 5]][file_index::bigint + 1]["body," + 1]::integer as "window,",
    [[0], [2], [0, null, 1, 1]][file_index::bigint + 1]["body," + 1]::integer as "part,",
    "day",
    "app ""quoted""",
    "order",
    cast("o'brien said ""hi""_events" as BIGINT) as "o'brien said ""hi""_events",
    cast("my event_revenue" as DECIMAL(18,6)) as "my event_revenue",
    cast(nullif("value", 0) as DOUBLE) as "value",
    "attr_dependency",
    "_extra",
    "rejected,"
from read_parquet(['/spool/it''s here.parquet', '/spool/b.parquet', '/spool/d.parquet'], hive_partitioning = false)
where "window," is not null
