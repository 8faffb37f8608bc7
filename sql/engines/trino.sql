-- Not run by the tests; written after the documentation of the connectors for Hive and for Delta Lake.
-- Put the name of your catalog of that connector in the place of hive.
[plain files] -- Files on a disk need fs.native-local.enabled=true and local.location=/ in it.
[Delta tables] -- It needs register-table-procedure.enabled.
[night] -- The views show night {night} for as long as keep says: make them again each night.

create schema if not exists hive."{schema}";

-- plain files:

drop table if exists hive."{schema}"."{table}";

create table hive."{schema}"."{table}" (
[column]     "{name}" {type} comment '{comment}'
)
comment '{comment}'
with (
[disk]     external_location = 'local://{root}/{table}',
[bucket]     external_location = '{root}/{table}',
    format = 'PARQUET'
);

-- Delta tables:

call hive.system.register_table(
    schema_name => '{schema}',
    table_name => '{table}',
[disk]     table_location => 'local://{root}/{table}'
[bucket]     table_location => '{root}/{table}'
);

-- tables in views:

hive."{schema}"."{table}"
[night] for version as of {night}

-- views:

create or replace view hive."{schema}"."{table}" as
{rows};

comment on view hive."{schema}"."{table}" is '{comment}';
[commented] comment on column hive."{schema}"."{table}"."{name}" is '{comment}';

-- types:

-- The connector's precision is milliseconds unless it is configured otherwise, and a finer table is refused.
TIMESTAMP timestamp(3)
