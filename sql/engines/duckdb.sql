[plain files] -- Run by the tests from disk (npm test); not from S3, as its extension is not in the registry.
[Delta tables] -- The views are run by the tests (npm test) over a reader in the place of delta_scan; its extension is not in the registry.
[Delta tables] -- An older night takes an extension whose delta_scan knows the parameter version.
[disk] -- catalog.duckdb beside Delta tables needs no extension, and shows the newest night.
[night] -- Tables and views show night {night} for as long as keep says: make them again each night.

[bucket] install httpfs;
[bucket] load httpfs;
[bucket] install aws;
[bucket] load aws;

[bucket] create or replace secret (
[bucket]     type s3,
[region]     region '{region}',
[endpoint]     endpoint '{host}',
[endpoint]     use_ssl {ssl},
[path style]     url_style 'path',
[bucket]     provider credential_chain
[bucket] );

[Delta tables] install delta;
[Delta tables] load delta;

create schema if not exists "{schema}";

-- plain files:

create or replace view "{schema}"."{table}" as
select
[column]     "{name}"
from read_parquet('{pattern}/{table}/*.parquet');

comment on view "{schema}"."{table}" is '{comment}';
[commented] comment on column "{schema}"."{table}"."{name}" is '{comment}';

-- Delta tables:

create or replace view "{schema}"."{table}" as
select
[column]     "{name}"
[night] from delta_scan('{root}/{table}', version => {night});
[newest] from delta_scan('{root}/{table}');

comment on view "{schema}"."{table}" is '{comment}';
[commented] comment on column "{schema}"."{table}"."{name}" is '{comment}';

-- tables in views:

"{schema}"."{table}"

-- views:

create or replace view "{schema}"."{table}" as
{rows};

comment on view "{schema}"."{table}" is '{comment}';
[commented] comment on column "{schema}"."{table}"."{name}" is '{comment}';
