-- Not run by the tests; written after the documentation of BigLake tables for Delta Lake.
-- Needs a connection that may read the bucket, here called us.ripen; of Amazon S3 one of BigQuery Omni, in the region of the bucket.
-- For a bucket of Google Cloud Storage put gs: in the place of s3:.
-- The newest version of each table is read, which is another night while one is published.

create schema if not exists `{schema}`;

-- Delta tables:

create external table if not exists `{schema}`.`{table}`
with connection `us.ripen`
options (
    format = 'DELTA_LAKE',
    uris = ['{root}/{table}'],
    description = '{comment}'
);

-- tables in views:

`{schema}`.`{table}`

-- views:

create or replace view `{schema}`.`{table}` (
[column]     `{name}` options (description = '{comment}')
)
options (description = '{comment}') as
{rows};

-- types:

BOOLEAN bool
BIGINT int64
DOUBLE float64
VARCHAR string
DECIMAL bignumeric
