-- Not run by the tests; written after the documentation of Athena engine version 3.
-- Run each statement by itself, as Athena takes one at a time.
[delta] -- The newest version of each table is read, which is another night while one is published.

create database if not exists `{schema}`;

-- Each plain table:

drop table if exists `{schema}`.`{table}`;

create external table `{schema}`.`{table}` (
[column]     `{name}` {type}
)
comment '{comment}'
stored as parquet
location '{root}/{table}/';

-- Each Delta table:

create external table if not exists `{schema}`.`{table}`
location '{root}/{table}/'
tblproperties ('table_type' = 'DELTA');

-- Each table in a view:

"{schema}"."{table}"

-- Each view:

create or replace view "{schema}"."{table}" as
{rows};

-- Each type:

INTEGER int
VARCHAR string
