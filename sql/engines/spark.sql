-- Not run by the tests; written after the documentation of Spark 3.5 and of Delta Lake.
[plain files] -- Needs Spark 3.4 or newer, for timestamp_ntz.
[plain files] -- Run refresh table after a publish.
[night] -- The views show night {night} for as long as keep says: make them again each night.

create database if not exists `{schema}`;

-- plain files:

drop table if exists `{schema}`.`{table}`;

create table `{schema}`.`{table}` (
[column]     `{name}` {type} comment '{comment}'
)
using parquet
[disk] location 'file://{root}/{table}'
[bucket] location 's3a:{path}/{table}'
comment '{comment}';

-- Delta tables:

create table if not exists `{schema}`.`{table}` using delta
[disk] location 'file://{root}/{table}';
[bucket] location 's3a:{path}/{table}';

-- tables in views:

`{schema}`.`{table}`
[night] version as of {night}

-- views:

create or replace view `{schema}`.`{table}` (
[column]     `{name}` comment '{comment}'
)
comment '{comment}' as
{rows};

-- types:

INTEGER int
VARCHAR string
-- A plain timestamp would move the digits of the file to the zone of the session.
TIMESTAMP timestamp_ntz
