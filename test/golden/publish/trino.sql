-- How Trino reads the lake s3://example-bucket/mobile/lake; made by `ripen publish --ddl trino`.
-- Not run by the tests; written after the documentation of the Hive connector.
-- Put the name of your catalog of the Hive connector in the place of hive.
-- Call sync_partition_metadata again after a publish that made or removed periods.
-- Make and run the statements again after a slice or its columns changed.

create schema if not exists hive."lake";

drop table if exists hive."lake"."order";

create table hive."lake"."order" (
    "app_token" varchar,
    "cost" decimal(18,6) comment 'cost: ',
    "index" bigint comment 'index: éééééééééééééééééééééééééééééé',
    "value" double comment 'value: éééééééééééééééééééééééééééééééééééééééééééééééééééééééééééé',
    "name" boolean comment 'name: éééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééé',
    "label" decimal(38,10) comment 'label: éééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééé',
    "level" integer comment 'level: éééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééé',
    "o'brien ""x"" `y` \z events" bigint comment 'o''brien "x" `y` \z events: éééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééé',
    "_extra" varchar,
    "day" date comment 'The day''s date'
)
comment 'It''s a "slice";
-- one row per \day\'
with (
    external_location = 's3://example-bucket/mobile/lake/order',
    format = 'PARQUET',
    partitioned_by = array['day']
);

call hive.system.sync_partition_metadata('lake', 'order', 'FULL');

drop table if exists hive."lake"."by_hour";

create table hive."lake"."by_hour" (
    "hour" timestamp(3) comment 'Hour',
    "year" date comment 'Year',
    "cost" decimal(18,6) comment 'Cost',
    "day" date comment 'The day the rows are filed under.'
)
comment ''
with (
    external_location = 's3://example-bucket/mobile/lake/by_hour',
    format = 'PARQUET',
    partitioned_by = array['day']
);

call hive.system.sync_partition_metadata('lake', 'by_hour', 'FULL');

drop table if exists hive."lake"."undated";

create table hive."lake"."undated" (
    "app_token" varchar,
    "value" bigint comment 'Value'
)
comment 'All days in one'
with (
    external_location = 's3://example-bucket/mobile/lake/undated',
    format = 'PARQUET'
);

drop table if exists hive."lake"."ripen_finality";

create table hive."lake"."ripen_finality" (
    "slice" varchar,
    "period" date,
    "metric" varchar,
    "is_final" boolean
)
comment 'Whether a cell is final'
with (
    external_location = 's3://example-bucket/mobile/lake/ripen_finality',
    format = 'PARQUET'
);

create or replace view hive."lake"."order_final" as
select
    s."day",
    s."app_token",
    case when f.m0 = 1 then s."cost" end as "cost",
    case when f.m1 = 1 then s."index" end as "index",
    case when f.m2 = 1 then s."value" end as "value",
    case when f.m3 = 1 then s."name" end as "name",
    case when f.m4 = 1 then s."label" end as "label",
    case when f.m5 = 1 then s."level" end as "level",
    case when f.m6 = 1 then s."o'brien ""x"" `y` \z events" end as "o'brien ""x"" `y` \z events",
    s."_extra"
from hive."lake"."order" as s
left join (
    select
        "period",
        max(case when "metric" = 'cost' then 1 end) as m0,
        max(case when "metric" = 'index' then 1 end) as m1,
        max(case when "metric" = 'value' then 1 end) as m2,
        max(case when "metric" = 'name' then 1 end) as m3,
        max(case when "metric" = 'label' then 1 end) as m4,
        max(case when "metric" = 'level' then 1 end) as m5,
        max(case when "metric" = 'o''brien "x" `y` \z events' then 1 end) as m6
    from hive."lake"."ripen_finality"
    where "slice" = 'order' and "is_final"
    group by "period"
) as f on f."period" = cast(s."day" as date);

create or replace view hive."lake"."by_hour_final" as
select
    s."hour",
    s."year",
    case when f.m0 = 1 then s."cost" end as "cost"
from hive."lake"."by_hour" as s
left join (
    select
        "period",
        max(case when "metric" = 'cost' then 1 end) as m0
    from hive."lake"."ripen_finality"
    where "slice" = 'by_hour' and "is_final"
    group by "period"
) as f on f."period" = cast(s."hour" as date);

create or replace view hive."lake"."undated_final" as
select
    s."app_token",
    case when f.m0 = 1 then s."value" end as "value"
from hive."lake"."undated" as s
cross join (
    select
        max(case when "metric" = 'value' then 1 end) as m0
    from hive."lake"."ripen_finality"
    where "slice" = 'undated' and "is_final"
) as f;
