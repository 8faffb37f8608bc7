-- Not run by the tests; written after the documentation of Databricks SQL with Unity Catalog.
-- Needs an external location of Unity Catalog that covers the bucket.
[night] -- The views show night {night} for as long as keep says: make them again each night.

create database if not exists `{schema}`;

-- Delta tables:

create table if not exists `{schema}`.`{table}` using delta location '{root}/{table}';

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
