-- Not run by the tests; written after the documentation of Iceberg tables over Delta files.
-- Needs an external volume whose location is the folder of the tables, here called ripen_volume.
-- Names are written as the tables have them, in small letters.
-- The newest version of each table is read, which is another night while one is published.

create catalog integration if not exists ripen_delta
    catalog_source = object_store
    table_format = delta
    enabled = true;

create schema if not exists "{schema}";

-- Delta tables:

create iceberg table if not exists "{schema}"."{table}"
    external_volume = 'ripen_volume'
    catalog = 'ripen_delta'
    base_location = '{table}/'
    auto_refresh = true
    comment = '{comment}';

-- tables in views:

"{schema}"."{table}"

-- views:

create or replace view "{schema}"."{table}" (
[column]     "{name}" comment '{comment}'
)
comment = '{comment}' as
{rows};
