-- How spark reads the plain files in s3://example-bucket/mobile/lake; made by `ripen publish --ddl spark`.
-- Make and run the statements again after a slice or its columns change.

-- Not run by the tests; written after the documentation of Spark 3.5 and of Delta Lake.
-- Needs Spark 3.4 or newer, for timestamp_ntz.
-- Run refresh table after a publish.

create database if not exists `lake`;

drop table if exists `lake`.`order`;

create table `lake`.`order` (
    `day` date comment 'The day\'s date',
    `app_token` string comment '',
    `cost` decimal(18,6) comment 'cost: ',
    `index` bigint comment 'index: éééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééé',
    `value` double comment 'value: éééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééé',
    `o'brien "x" ``y`` \z events` int comment 'o\'brien "x" `y` \\z events: éééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééé',
    `_extra` string comment ''
)
using parquet
location 's3a://example-bucket/mobile/lake/order'
comment 'It\'s a "slice";\n-- one row per \\day\\';

drop table if exists `lake`.`by_hour`;

create table `lake`.`by_hour` (
    `hour` timestamp_ntz comment 'Hour',
    `year` date comment 'Year',
    `cost` decimal(18,6) comment 'Cost'
)
using parquet
location 's3a://example-bucket/mobile/lake/by_hour'
comment '';

drop table if exists `lake`.`undated`;

create table `lake`.`undated` (
    `app_token` string comment '',
    `value` bigint comment 'Value'
)
using parquet
location 's3a://example-bucket/mobile/lake/undated'
comment 'All days in one';

drop table if exists `lake`.`ripen_finality`;

create table `lake`.`ripen_finality` (
    `slice` string comment '',
    `period` date comment '',
    `metric` string comment '',
    `is_final` boolean comment ''
)
using parquet
location 's3a://example-bucket/mobile/lake/ripen_finality'
comment 'Whether a cell is final';

create or replace view `lake`.`order_final` (
    `day` comment 'The day\'s date',
    `app_token` comment '',
    `cost` comment 'cost: ',
    `index` comment 'index: éééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééé',
    `value` comment 'value: éééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééé',
    `o'brien "x" ``y`` \z events` comment 'o\'brien "x" `y` \\z events: éééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééé',
    `_extra` comment ''
)
comment 'It\'s a "slice";\n-- one row per \\day\\ Cells that are not final are NULL.' as
select
    s.`day` as `day`,
    s.`app_token` as `app_token`,
    case when f.m0 = 1 then s.`cost` end as `cost`,
    case when f.m1 = 1 then s.`index` end as `index`,
    case when f.m2 = 1 then s.`value` end as `value`,
    case when f.m3 = 1 then s.`o'brien "x" ``y`` \z events` end as `o'brien "x" ``y`` \z events`,
    s.`_extra` as `_extra`
from `lake`.`order` as s
left join (
    select
        `period`,
        max(case when `metric` = 'cost' then 1 end) as m0,
        max(case when `metric` = 'index' then 1 end) as m1,
        max(case when `metric` = 'value' then 1 end) as m2,
        max(case when `metric` = 'o\'brien "x" `y` \\z events' then 1 end) as m3
    from `lake`.`ripen_finality` where `slice` = 'order' and `is_final`
    group by `period`
) as f on f.`period` = cast(s.`day` as date);

create or replace view `lake`.`order_cohorts` (
    `day` comment 'The day\'s date',
    `app_token` comment '',
    `metric` comment 'Metric',
    `age_days` comment '',
    `value` comment 'A \'value\'',
    `is_final` comment ''
)
comment 'It\'s long' as
select
    `day`,
    `app_token`,
    `metric`,
    `age_days`,
    `value`,
    `is_final`
from (
    select
        s.`day` as `day`,
        s.`app_token` as `app_token`,
        c.metric as `metric`,
        c.age_days as `age_days`,
        case c.id when 'cost' then cast(s.`cost` as decimal(38,6)) when 'o\'brien "x" `y` \\z events' then cast(s.`o'brien "x" ``y`` \z events` as decimal(38,6)) end as `value`,
        coalesce(f.`is_final`, false) as `is_final`
    from `lake`.`order` as s
    cross join (
        select 'cost' as id, 'cost' as metric, 0 as age_days
        union all select 'o\'brien "x" `y` \\z events' as id, 'o\'brien "x" `y` \\z' as metric, 30 as age_days
    ) as c
    left join (
        select `period`, `metric`, `is_final`
        from `lake`.`ripen_finality` where `slice` = 'order'
    ) as f on f.`metric` = c.id and f.`period` = cast(s.`day` as date)
) as cells
where `value` is not null;

create or replace view `lake`.`by_hour_final` (
    `hour` comment 'Hour',
    `year` comment 'Year',
    `cost` comment 'Cost'
)
comment 'Cells that are not final are NULL.' as
select
    s.`hour` as `hour`,
    s.`year` as `year`,
    case when f.m0 = 1 then s.`cost` end as `cost`
from `lake`.`by_hour` as s
left join (
    select
        `period`,
        max(case when `metric` = 'cost' then 1 end) as m0
    from `lake`.`ripen_finality` where `slice` = 'by_hour' and `is_final`
    group by `period`
) as f on f.`period` = cast(s.`hour` as date);

create or replace view `lake`.`undated_final` (
    `app_token` comment '',
    `value` comment 'Value'
)
comment 'All days in one Cells that are not final are NULL.' as
select
    s.`app_token` as `app_token`,
    case when f.m0 = 1 then s.`value` end as `value`
from `lake`.`undated` as s
cross join (
    select
        max(case when `metric` = 'value' then 1 end) as m0
    from `lake`.`ripen_finality` where `slice` = 'undated' and `is_final`
) as f;
