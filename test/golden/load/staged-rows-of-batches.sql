select
    coalesce(a."window,", b."window,") as "window,",
    coalesce(a."part,", b."part,") as "part,",
    coalesce(a."day", b."day") as "day",
    coalesce(a."app ""quoted""", b."app ""quoted""") as "app ""quoted""",
    coalesce(a."order", b."order") as "order",
    coalesce(a."attr_dependency", b."attr_dependency") as "attr_dependency",
    coalesce(a."o'brien said ""hi""_events", b."o'brien said ""hi""_events") as "o'brien said ""hi""_events",
    coalesce(a."my event_revenue", b."my event_revenue") as "my event_revenue",
    coalesce(a."value", b."value") as "value",
    coalesce(json_merge_patch(a."_extra", b."_extra"), a."_extra", b."_extra") as "_extra",
    nullif(concat_ws(',', a."rejected,", b."rejected,"), '') as "rejected,",
    greatest(a."copy,", b."copy,") as "copy,",
    least(a."until,", b."until,") as "until,"
from (select *, row_number() over (partition by "window,", "part,", "day", "app ""quoted""", "order", "attr_dependency") as "copy,", case when row_number() over (partition by "window,", "part,", "day", "app ""quoted""", "order", "attr_dependency") < count(*) over (partition by "window,", "part,", "day", "app ""quoted""", "order", "attr_dependency") then row_number() over (partition by "window,", "part,", "day", "app ""quoted""", "order", "attr_dependency") else 2147483647 end as "until," from (
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
)) as a full join (select *, row_number() over (partition by "window,", "part,", "day", "app ""quoted""", "order", "attr_dependency") as "copy,", case when row_number() over (partition by "window,", "part,", "day", "app ""quoted""", "order", "attr_dependency") < count(*) over (partition by "window,", "part,", "day", "app ""quoted""", "order", "attr_dependency") then row_number() over (partition by "window,", "part,", "day", "app ""quoted""", "order", "attr_dependency") else 2147483647 end as "until," from (
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
)) as b on a."window," is not distinct from b."window," and a."part," is not distinct from b."part," and a."day" is not distinct from b."day" and a."app ""quoted""" is not distinct from b."app ""quoted""" and a."order" is not distinct from b."order" and a."attr_dependency" is not distinct from b."attr_dependency" and a."copy," <= b."until," and b."copy," <= a."until,"
