-- How athena reads the plain files in s3://example-bucket/mobile/lake; made by `ripen publish --ddl athena`.
-- Make and run the statements again after a slice or its columns change.

-- Not run by the tests; written after the documentation of Athena engine version 3.
-- Run each statement by itself, as Athena takes one at a time.

create database if not exists `lake`;

drop table if exists `lake`.`order`;

create external table `lake`.`order` (
    `day` date,
    `app_token` string,
    `cost` decimal(18,6),
    `index` bigint,
    `value` double,
    `o'brien "x" ``y`` \z events` int,
    `_extra` string
)
comment 'It\'s a "slice";\n-- one row per \\day\\'
stored as parquet
location 's3://example-bucket/mobile/lake/order/';

drop table if exists `lake`.`by_hour`;

create external table `lake`.`by_hour` (
    `hour` timestamp,
    `year` date,
    `cost` decimal(18,6)
)
comment ''
stored as parquet
location 's3://example-bucket/mobile/lake/by_hour/';

drop table if exists `lake`.`undated`;

create external table `lake`.`undated` (
    `app_token` string,
    `value` bigint
)
comment 'All days in one'
stored as parquet
location 's3://example-bucket/mobile/lake/undated/';

drop table if exists `lake`.`ripen_finality`;

create external table `lake`.`ripen_finality` (
    `slice` string,
    `period` date,
    `metric` string,
    `is_final` boolean
)
comment 'Whether a cell is final'
stored as parquet
location 's3://example-bucket/mobile/lake/ripen_finality/';

create or replace view "lake"."order_final" as
select
    s."day" as "day",
    s."app_token" as "app_token",
    case when f.m0 = 1 then s."cost" end as "cost",
    case when f.m1 = 1 then s."index" end as "index",
    case when f.m2 = 1 then s."value" end as "value",
    case when f.m3 = 1 then s."o'brien ""x"" `y` \z events" end as "o'brien ""x"" `y` \z events",
    s."_extra" as "_extra"
from "lake"."order" as s
left join (
    select
        "period",
        max(case when "metric" = 'cost' then 1 end) as m0,
        max(case when "metric" = 'index' then 1 end) as m1,
        max(case when "metric" = 'value' then 1 end) as m2,
        max(case when "metric" = 'o''brien "x" `y` \z events' then 1 end) as m3
    from "lake"."ripen_finality" where "slice" = 'order' and "is_final"
    group by "period"
) as f on f."period" = cast(s."day" as date);

create or replace view "lake"."order_cohorts" as
select
    "day",
    "app_token",
    "metric",
    "age_days",
    "value",
    "is_final"
from (
    select
        s."day" as "day",
        s."app_token" as "app_token",
        c.metric as "metric",
        c.age_days as "age_days",
        case c.id when 'cost' then cast(s."cost" as decimal(38,6)) when 'o''brien "x" `y` \z events' then cast(s."o'brien ""x"" `y` \z events" as decimal(38,6)) end as "value",
        coalesce(f."is_final", false) as "is_final"
    from "lake"."order" as s
    cross join (
        select 'cost' as id, 'cost' as metric, 0 as age_days
        union all select 'o''brien "x" `y` \z events' as id, 'o''brien "x" `y` \z' as metric, 30 as age_days
    ) as c
    left join (
        select "period", "metric", "is_final"
        from "lake"."ripen_finality" where "slice" = 'order'
    ) as f on f."metric" = c.id and f."period" = cast(s."day" as date)
) as cells
where "value" is not null;

create or replace view "lake"."by_hour_final" as
select
    s."hour" as "hour",
    s."year" as "year",
    case when f.m0 = 1 then s."cost" end as "cost"
from "lake"."by_hour" as s
left join (
    select
        "period",
        max(case when "metric" = 'cost' then 1 end) as m0
    from "lake"."ripen_finality" where "slice" = 'by_hour' and "is_final"
    group by "period"
) as f on f."period" = cast(s."hour" as date);

create or replace view "lake"."undated_final" as
select
    s."app_token" as "app_token",
    case when f.m0 = 1 then s."value" end as "value"
from "lake"."undated" as s
cross join (
    select
        max(case when "metric" = 'value' then 1 end) as m0
    from "lake"."ripen_finality" where "slice" = 'undated' and "is_final"
) as f;
