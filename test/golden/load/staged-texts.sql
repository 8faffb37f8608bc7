create or replace temp view "ripen staged" as
select
    [1, 3][file_index::bigint + 1]::integer as "window,",
    [0, 2][file_index::bigint + 1]::integer as "part,",
    "day",
    "app ""quoted""",
    "order",
    "o'brien said ""hi""_events",
    "my event_revenue",
    "value",
    "attr_dependency",
    "_extra"
from read_parquet(['/spool/it''s here.parquet', '/spool/b.parquet'], hive_partitioning = false)
