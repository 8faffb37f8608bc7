-- How DuckDB reads the Delta tables s3://example-bucket/mobile/lake; made by `ripen publish --ddl duckdb`.
-- Not run by the tests; written after the documentation of DuckDB's extension delta; its catalog.duckdb beside local tables is (npm test).
-- The newest version of ripen_finality is the newest whole night; every table has it under the same number.
-- Make and run the statements again after a slice or its columns changed.

install delta;

load delta;

create schema if not exists "lake";

create or replace view "lake"."order" as
from delta_scan('s3://example-bucket/mobile/lake/order');

create or replace view "lake"."by_hour" as
from delta_scan('s3://example-bucket/mobile/lake/by_hour');

create or replace view "lake"."undated" as
from delta_scan('s3://example-bucket/mobile/lake/undated');

create or replace view "lake"."ripen_finality" as
from delta_scan('s3://example-bucket/mobile/lake/ripen_finality');

create or replace view "lake"."order_final" as
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
from "lake"."order" as s
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
    from "lake"."ripen_finality"
    where "slice" = 'order' and "is_final"
    group by "period"
) as f on f."period" = cast(s."day" as date);

create or replace view "lake"."by_hour_final" as
select
    s."hour",
    s."year",
    case when f.m0 = 1 then s."cost" end as "cost"
from "lake"."by_hour" as s
left join (
    select
        "period",
        max(case when "metric" = 'cost' then 1 end) as m0
    from "lake"."ripen_finality"
    where "slice" = 'by_hour' and "is_final"
    group by "period"
) as f on f."period" = cast(s."hour" as date);

create or replace view "lake"."undated_final" as
select
    s."app_token",
    case when f.m0 = 1 then s."value" end as "value"
from "lake"."undated" as s
cross join (
    select
        max(case when "metric" = 'value' then 1 end) as m0
    from "lake"."ripen_finality"
    where "slice" = 'undated' and "is_final"
) as f;
