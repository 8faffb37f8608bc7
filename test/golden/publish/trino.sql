-- How trino reads the plain files in s3://example-bucket/mobile/lake; made by `ripen publish --ddl trino`.
-- Make and run the statements again after a slice or its columns change.

-- Not run by the tests; written after the documentation of the connectors for Hive and for Delta Lake.
-- Put the name of your catalog of that connector in the place of hive.
-- Files on a disk need fs.native-local.enabled=true and local.location=/ in it.

create schema if not exists hive."lake";

drop table if exists hive."lake"."order";

create table hive."lake"."order" (
    "day" date comment 'The day''s date',
    "app_token" varchar comment '',
    "cost" decimal(18,6) comment 'cost: ',
    "index" bigint comment 'index: éééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééé',
    "value" double comment 'value: éééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééé',
    "o'brien ""x"" `y` \z events" integer comment 'o''brien "x" `y` \z events: éééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééé',
    "_extra" varchar comment ''
)
comment 'It''s a "slice";
-- one row per \day\'
with (
    external_location = 's3://example-bucket/mobile/lake/order',
    format = 'PARQUET'
);

drop table if exists hive."lake"."by_hour";

create table hive."lake"."by_hour" (
    "hour" timestamp(3) comment 'Hour',
    "year" date comment 'Year',
    "cost" decimal(18,6) comment 'Cost'
)
comment ''
with (
    external_location = 's3://example-bucket/mobile/lake/by_hour',
    format = 'PARQUET'
);

drop table if exists hive."lake"."undated";

create table hive."lake"."undated" (
    "app_token" varchar comment '',
    "value" bigint comment 'Value'
)
comment 'All days in one'
with (
    external_location = 's3://example-bucket/mobile/lake/undated',
    format = 'PARQUET'
);

drop table if exists hive."lake"."ripen_finality";

create table hive."lake"."ripen_finality" (
    "slice" varchar comment '',
    "period" date comment '',
    "metric" varchar comment '',
    "is_final" boolean comment ''
)
comment 'Whether a cell is final'
with (
    external_location = 's3://example-bucket/mobile/lake/ripen_finality',
    format = 'PARQUET'
);

create or replace view hive."lake"."order_final" as
select
    s."day" as "day",
    s."app_token" as "app_token",
    case when f.m0 = 1 then s."cost" end as "cost",
    case when f.m1 = 1 then s."index" end as "index",
    case when f.m2 = 1 then s."value" end as "value",
    case when f.m3 = 1 then s."o'brien ""x"" `y` \z events" end as "o'brien ""x"" `y` \z events",
    s."_extra" as "_extra"
from hive."lake"."order" as s
left join (
    select
        "period",
        max(case when "metric" = 'cost' then 1 end) as m0,
        max(case when "metric" = 'index' then 1 end) as m1,
        max(case when "metric" = 'value' then 1 end) as m2,
        max(case when "metric" = 'o''brien "x" `y` \z events' then 1 end) as m3
    from hive."lake"."ripen_finality" where "slice" = 'order' and "is_final"
    group by "period"
) as f on f."period" = cast(s."day" as date);

comment on view hive."lake"."order_final" is 'It''s a "slice";
-- one row per \day\ Cells that are not final are NULL.';
comment on column hive."lake"."order_final"."day" is 'The day''s date';
comment on column hive."lake"."order_final"."cost" is 'cost: ';
comment on column hive."lake"."order_final"."index" is 'index: éééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééé';
comment on column hive."lake"."order_final"."value" is 'value: éééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééé';
comment on column hive."lake"."order_final"."o'brien ""x"" `y` \z events" is 'o''brien "x" `y` \z events: éééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééé';

create or replace view hive."lake"."order_cohorts" as
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
    from hive."lake"."order" as s
    cross join (
        select 'cost' as id, 'cost' as metric, 0 as age_days
        union all select 'o''brien "x" `y` \z events' as id, 'o''brien "x" `y` \z' as metric, 30 as age_days
    ) as c
    left join (
        select "period", "metric", "is_final"
        from hive."lake"."ripen_finality" where "slice" = 'order'
    ) as f on f."metric" = c.id and f."period" = cast(s."day" as date)
) as cells
where "value" is not null;

comment on view hive."lake"."order_cohorts" is 'It''s long';
comment on column hive."lake"."order_cohorts"."day" is 'The day''s date';
comment on column hive."lake"."order_cohorts"."metric" is 'Metric';
comment on column hive."lake"."order_cohorts"."value" is 'A ''value''';

create or replace view hive."lake"."by_hour_final" as
select
    s."hour" as "hour",
    s."year" as "year",
    case when f.m0 = 1 then s."cost" end as "cost"
from hive."lake"."by_hour" as s
left join (
    select
        "period",
        max(case when "metric" = 'cost' then 1 end) as m0
    from hive."lake"."ripen_finality" where "slice" = 'by_hour' and "is_final"
    group by "period"
) as f on f."period" = cast(s."hour" as date);

comment on view hive."lake"."by_hour_final" is 'Cells that are not final are NULL.';
comment on column hive."lake"."by_hour_final"."hour" is 'Hour';
comment on column hive."lake"."by_hour_final"."year" is 'Year';
comment on column hive."lake"."by_hour_final"."cost" is 'Cost';

create or replace view hive."lake"."undated_final" as
select
    s."app_token" as "app_token",
    case when f.m0 = 1 then s."value" end as "value"
from hive."lake"."undated" as s
cross join (
    select
        max(case when "metric" = 'value' then 1 end) as m0
    from hive."lake"."ripen_finality" where "slice" = 'undated' and "is_final"
) as f;

comment on view hive."lake"."undated_final" is 'All days in one Cells that are not final are NULL.';
comment on column hive."lake"."undated_final"."value" is 'Value';
