-- How clickhouse reads the Delta tables in s3://example-bucket/mobile/lake; made by `ripen publish --ddl clickhouse`.
-- Make and run the statements again after a slice or its columns change.

-- Run by the tests (npm run test:lake): in chDB 3.4.0, which is ClickHouse 26.7, from disk and from S3.
-- A server takes the credentials of a bucket from its environment (use_environment_credentials).
-- Tables and views show night 12 for as long as keep says: make them again each night.

create database if not exists `lake`;

create or replace view `lake`.`order`
(
    `day` Nullable(Date32) comment 'The day\'s date',
    `app_token` Nullable(String) comment '',
    `cost` Nullable(Decimal(18,6)) comment 'cost: ',
    `index` Nullable(Int64) comment 'index: éééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééé',
    `value` Nullable(Float64) comment 'value: éééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééé',
    `o'brien "x" \`y\` \\z events` Nullable(Int32) comment 'o\'brien "x" `y` \\z events: éééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééé',
    `_extra` Nullable(String) comment ''
)
as select
    `day`,
    `app_token`,
    `cost`,
    `index`,
    `value`,
    `o'brien "x" \`y\` \\z events`,
    `_extra`
from deltaLake('https://minio.example.com:9000/example-bucket/mobile/lake/order/')
settings delta_lake_snapshot_version = 12
comment 'It\'s a "slice";\n-- one row per \\day\\';

create or replace view `lake`.`by_hour`
(
    `hour` Nullable(DateTime64(6, 'UTC')) comment 'Hour',
    `year` Nullable(Date32) comment 'Year',
    `cost` Nullable(Decimal(18,6)) comment 'Cost'
)
as select
    `hour`,
    `year`,
    `cost`
from deltaLake('https://minio.example.com:9000/example-bucket/mobile/lake/by_hour/')
settings delta_lake_snapshot_version = 12
comment '';

create or replace view `lake`.`undated`
(
    `app_token` Nullable(String) comment '',
    `value` Nullable(Int64) comment 'Value'
)
as select
    `app_token`,
    `value`
from deltaLake('https://minio.example.com:9000/example-bucket/mobile/lake/undated/')
settings delta_lake_snapshot_version = 12
comment 'All days in one';

create or replace view `lake`.`ripen_finality`
(
    `slice` Nullable(String) comment '',
    `period` Nullable(Date32) comment '',
    `metric` Nullable(String) comment '',
    `is_final` Nullable(Bool) comment ''
)
as select
    `slice`,
    `period`,
    `metric`,
    `is_final`
from deltaLake('https://minio.example.com:9000/example-bucket/mobile/lake/ripen_finality/')
settings delta_lake_snapshot_version = 12
comment 'Whether a cell is final';

create or replace view `lake`.`order_final`
(
    `day` Nullable(Date32) comment 'The day\'s date',
    `app_token` Nullable(String) comment '',
    `cost` Nullable(Decimal(18,6)) comment 'cost: ',
    `index` Nullable(Int64) comment 'index: éééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééé',
    `value` Nullable(Float64) comment 'value: éééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééé',
    `o'brien "x" \`y\` \\z events` Nullable(Int32) comment 'o\'brien "x" `y` \\z events: éééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééé',
    `_extra` Nullable(String) comment ''
)
as select
    s.`day` as `day`,
    s.`app_token` as `app_token`,
    case when f.m0 = 1 then s.`cost` end as `cost`,
    case when f.m1 = 1 then s.`index` end as `index`,
    case when f.m2 = 1 then s.`value` end as `value`,
    case when f.m3 = 1 then s.`o'brien "x" \`y\` \\z events` end as `o'brien "x" \`y\` \\z events`,
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
) as f on f.`period` = cast(s.`day` as date)
comment 'It\'s a "slice";\n-- one row per \\day\\ Cells that are not final are NULL.';

create or replace view `lake`.`order_cohorts`
(
    `day` Nullable(Date32) comment 'The day\'s date',
    `app_token` Nullable(String) comment '',
    `metric` Nullable(String) comment 'Metric',
    `age_days` Nullable(Int32) comment '',
    `value` Nullable(Decimal(38,6)) comment 'A \'value\'',
    `is_final` Nullable(Bool) comment ''
)
as select
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
        case c.id when 'cost' then cast(s.`cost` as Nullable(Decimal(38,6))) when 'o\'brien "x" `y` \\z events' then cast(s.`o'brien "x" \`y\` \\z events` as Nullable(Decimal(38,6))) end as `value`,
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
where `value` is not null
comment 'It\'s long';

create or replace view `lake`.`by_hour_final`
(
    `hour` Nullable(DateTime64(6, 'UTC')) comment 'Hour',
    `year` Nullable(Date32) comment 'Year',
    `cost` Nullable(Decimal(18,6)) comment 'Cost'
)
as select
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
) as f on f.`period` = cast(s.`hour` as date)
comment 'Cells that are not final are NULL.';

create or replace view `lake`.`undated_final`
(
    `app_token` Nullable(String) comment '',
    `value` Nullable(Int64) comment 'Value'
)
as select
    s.`app_token` as `app_token`,
    case when f.m0 = 1 then s.`value` end as `value`
from `lake`.`undated` as s
cross join (
    select
        max(case when `metric` = 'value' then 1 end) as m0
    from `lake`.`ripen_finality` where `slice` = 'undated' and `is_final`
) as f
comment 'All days in one Cells that are not final are NULL.';
