-- Run by the tests (npm run test:lake): in chDB 3.4.0, which is ClickHouse 26.7, from disk and from S3.
[bucket] -- A server takes the credentials of a bucket from its environment (use_environment_credentials).
[disk] -- A server reads below its user_files_path alone; clickhouse local and chDB read any folder.
[night] -- Tables and views show night {night} for as long as keep says: make them again each night.

create database if not exists `{schema}`;

-- plain files:

create or replace view `{schema}`.`{table}`
(
[column]     `{name}` {type} comment '{comment}'
)
as select
[column]     `{name}`
[disk] from file('{root}/{table}/*.parquet', 'Parquet', '{structure}')
[bucket] from s3('{address}/{table}/*.parquet', 'Parquet', '{structure}')
comment '{comment}';

-- Delta tables:

create or replace view `{schema}`.`{table}`
(
[column]     `{name}` {type} comment '{comment}'
)
as select
[column]     `{name}`
[disk] from deltaLakeLocal('{root}/{table}/')
[bucket] from deltaLake('{address}/{table}/')
[night] settings delta_lake_snapshot_version = {night}
comment '{comment}';

-- tables in views:

`{schema}`.`{table}`

-- views:

create or replace view `{schema}`.`{table}`
(
[column]     `{name}` {type} comment '{comment}'
)
as {rows}
comment '{comment}';

-- types:

BOOLEAN Nullable(Bool)
INTEGER Nullable(Int32)
BIGINT Nullable(Int64)
DOUBLE Nullable(Float64)
DECIMAL Nullable(Decimal{digits})
VARCHAR Nullable(String)
-- Without a zone the digits of the file would be shown in that of the server.
TIMESTAMP Nullable(DateTime64(6, 'UTC'))
-- Date ends in 2149 and begins in 1970, which is enough for periods alone.
DATE Nullable(Date32)
