-- How bigquery reads the Delta tables in s3://example-bucket/mobile/lake; made by `ripen publish --ddl bigquery`.
-- Make and run the statements again after a slice or its columns change.

-- Not run by the tests; written after the documentation of BigLake tables for Delta Lake.
-- Needs a connection that may read the bucket, here called us.ripen; of Amazon S3 one of BigQuery Omni, in the region of the bucket.
-- For a bucket of Google Cloud Storage put gs: in the place of s3:.
-- The newest version of each table is read, which is another night while one is published.

create schema if not exists `lake`;

create external table if not exists `lake`.`order`
with connection `us.ripen`
options (
    format = 'DELTA_LAKE',
    uris = ['s3://example-bucket/mobile/lake/order'],
    description = 'It\'s a "slice";\n-- one row per \\day\\'
);

create external table if not exists `lake`.`by_hour`
with connection `us.ripen`
options (
    format = 'DELTA_LAKE',
    uris = ['s3://example-bucket/mobile/lake/by_hour'],
    description = ''
);

create external table if not exists `lake`.`undated`
with connection `us.ripen`
options (
    format = 'DELTA_LAKE',
    uris = ['s3://example-bucket/mobile/lake/undated'],
    description = 'All days in one'
);

create external table if not exists `lake`.`ripen_finality`
with connection `us.ripen`
options (
    format = 'DELTA_LAKE',
    uris = ['s3://example-bucket/mobile/lake/ripen_finality'],
    description = 'Whether a cell is final'
);

create or replace view `lake`.`order_final` (
    `day` options (description = 'The day\'s date'),
    `app_token` options (description = ''),
    `cost` options (description = 'cost: '),
    `index` options (description = 'index: éééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééé'),
    `value` options (description = 'value: éééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééé'),
    `o'brien "x" \`y\` \\z events` options (description = 'o\'brien "x" `y` \\z events: éééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééé'),
    `_extra` options (description = '')
)
options (description = 'It\'s a "slice";\n-- one row per \\day\\ Cells that are not final are NULL.') as
select
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
) as f on f.`period` = cast(s.`day` as date);

create or replace view `lake`.`order_cohorts` (
    `day` options (description = 'The day\'s date'),
    `app_token` options (description = ''),
    `metric` options (description = 'Metric'),
    `age_days` options (description = ''),
    `value` options (description = 'A \'value\''),
    `is_final` options (description = '')
)
options (description = 'It\'s long') as
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
        case c.id when 'cost' then cast(s.`cost` as bignumeric) when 'o\'brien "x" `y` \\z events' then cast(s.`o'brien "x" \`y\` \\z events` as bignumeric) end as `value`,
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
    `hour` options (description = 'Hour'),
    `year` options (description = 'Year'),
    `cost` options (description = 'Cost')
)
options (description = 'Cells that are not final are NULL.') as
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
    `app_token` options (description = ''),
    `value` options (description = 'Value')
)
options (description = 'All days in one Cells that are not final are NULL.') as
select
    s.`app_token` as `app_token`,
    case when f.m0 = 1 then s.`value` end as `value`
from `lake`.`undated` as s
cross join (
    select
        max(case when `metric` = 'value' then 1 end) as m0
    from `lake`.`ripen_finality` where `slice` = 'undated' and `is_final`
) as f;
