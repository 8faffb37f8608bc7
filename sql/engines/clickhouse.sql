-- Run by the tests (npm run test:lake): in chDB 3.4.0, which is ClickHouse 26.7, from disk and from S3.
[bucket] -- A server takes the credentials of a bucket from its environment (use_environment_credentials).
[disk] -- A server reads below its user_files_path alone; clickhouse local and chDB read any folder.
[night] -- Tables and views show night {night} for as long as keep says: make them again each night.

create database if not exists `{schema}`;

-- Each plain table:

create or replace view `{schema}`.`{table}`
(
[column]     `{name}` {type} comment '{comment}'
)
as select
[column]     `{name}`
[disk] from file('{folder}/{glob}data.parquet', 'Parquet', '{structure}')
[bucket] from s3('{folder}/{glob}data.parquet', 'Parquet', '{structure}')
settings use_hive_partitioning = 1
comment '{comment}';

-- Each Delta table:

create or replace view `{schema}`.`{table}`
(
[column]     `{name}` {type} comment '{comment}'
)
as select
[column]     `{name}`
[disk] from deltaLakeLocal('{folder}/')
[bucket] from deltaLake('{folder}/')
[night] settings delta_lake_snapshot_version = {night}
comment '{comment}';

-- Each table in a view:

`{schema}`.`{table}`

-- Each view:

create or replace view `{schema}`.`{table}`
(
[column]     `{name}` {type} comment '{comment}'
)
as {rows}
comment '{comment}';
