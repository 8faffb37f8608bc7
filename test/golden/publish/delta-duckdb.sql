-- How duckdb reads the Delta tables in s3://example-bucket/mobile/lake; made by `ripen publish --ddl duckdb`.
-- Make and run the statements again after a slice or its columns change.

-- The views are run by the tests (npm test) over a reader in the place of delta_scan; its extension is not in the registry.
-- An older night takes an extension whose delta_scan knows the parameter version.
-- Tables and views show night 12 for as long as keep says: make them again each night.

install httpfs;
load httpfs;
install aws;
load aws;

create or replace secret (
    type s3,
    region 'eu-central-1',
    endpoint 'minio.example.com:9000',
    use_ssl true,
    url_style 'path',
    provider credential_chain
);

install delta;
load delta;

create schema if not exists "lake";

create or replace view "lake"."order" as
select
    "day",
    "app_token",
    "cost",
    "index",
    "value",
    "o'brien ""x"" `y` \z events",
    "_extra"
from delta_scan('s3://example-bucket/mobile/lake/order', version => 12);

comment on view "lake"."order" is 'It''s a "slice";
-- one row per \day\';
comment on column "lake"."order"."day" is 'The day''s date';
comment on column "lake"."order"."cost" is 'cost: ';
comment on column "lake"."order"."index" is 'index: éééé';
comment on column "lake"."order"."value" is 'value: éééééééé';
comment on column "lake"."order"."o'brien ""x"" `y` \z events" is 'o''brien "x" `y` \z events: éééééééééééé';

create or replace view "lake"."by_hour" as
select
    "hour",
    "year",
    "cost"
from delta_scan('s3://example-bucket/mobile/lake/by_hour', version => 12);

comment on view "lake"."by_hour" is '';
comment on column "lake"."by_hour"."hour" is 'Hour';
comment on column "lake"."by_hour"."year" is 'Year';
comment on column "lake"."by_hour"."cost" is 'Cost';

create or replace view "lake"."undated" as
select
    "app_token",
    "value"
from delta_scan('s3://example-bucket/mobile/lake/undated', version => 12);

comment on view "lake"."undated" is 'All days in one';
comment on column "lake"."undated"."value" is 'Value';

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

comment on view "lake"."order_final" is 'It''s a "slice";
-- one row per \day\ Cells that are not final are NULL.';
comment on column "lake"."order_final"."day" is 'The day''s date';
comment on column "lake"."order_final"."cost" is 'cost: ';
comment on column "lake"."order_final"."index" is 'index: éééé';
comment on column "lake"."order_final"."value" is 'value: éééééééé';
comment on column "lake"."order_final"."o'brien ""x"" `y` \z events" is 'o''brien "x" `y` \z events: éééééééééééé';

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

comment on view "lake"."order_cohorts" is 'It''s long';
comment on column "lake"."order_cohorts"."day" is 'The day''s date';
comment on column "lake"."order_cohorts"."metric" is 'Metric';
comment on column "lake"."order_cohorts"."value" is 'A ''value''';

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

comment on view "lake"."by_hour_final" is 'Cells that are not final are NULL.';
comment on column "lake"."by_hour_final"."hour" is 'Hour';
comment on column "lake"."by_hour_final"."year" is 'Year';
comment on column "lake"."by_hour_final"."cost" is 'Cost';

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

comment on view "lake"."undated_final" is 'All days in one Cells that are not final are NULL.';
comment on column "lake"."undated_final"."value" is 'Value';
