-- Not run by the tests; written after the documentation of Athena engine version 3.
-- Run each statement by itself, as Athena takes one at a time.
[Delta tables] -- The newest version of each table is read, which is another night while one is published.

create database if not exists `{schema}`;

-- plain files:

drop table if exists `{schema}`.`{table}`;

create external table `{schema}`.`{table}` (
[column]     `{name}` {type}
)
comment '{comment}'
stored as parquet
location '{root}/{table}/';

-- Delta tables:

create external table if not exists `{schema}`.`{table}`
location '{root}/{table}/'
tblproperties ('table_type' = 'DELTA');

-- tables in views:

"{schema}"."{table}"

-- views:

create or replace view "{schema}"."{table}" as
{rows};

-- types:

INTEGER int
VARCHAR string
