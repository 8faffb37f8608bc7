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
union all
select
    [3][file_index::bigint + 1]::integer as "window,",
    [3][file_index::bigint + 1]::integer as "part,",
    "day",
    "app ""quoted""",
    "order",
    cast("o'brien said ""hi""_events" as BIGINT) as "o'brien said ""hi""_events",
    cast("my event_revenue" as DECIMAL(18,6)) as "my event_revenue",
    cast(cast("value" as VARCHAR) as DOUBLE) as "value",
    "attr_dependency",
    null::JSON as "_extra",
    null::VARCHAR as "rejected,"
from read_parquet(['/spool/c.parquet'], hive_partitioning = false)
