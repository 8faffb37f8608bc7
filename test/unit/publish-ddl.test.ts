/** The statements with which engines read a lake, as text (test/golden/publish). */

import { describe, expect, test } from 'vitest';

import { lakeDdl, schemaName } from '../../src/publish/words/ddl.ts';
import { ddlRefusal } from '../../src/publish/words/engine-text.ts';
import { engines } from '../../src/publish/words/engines.ts';
import { inBucket, onDisk } from '../support/hostile-names.ts';

const plainEngines = engines.filter((engine) => ddlRefusal(engine, inBucket) === null);

describe('the statements', () => {
  test.each(plainEngines)(
    'of %s for a lake in a bucket are those of the golden file',
    async (engine) => {
      await expect(lakeDdl(engine, inBucket)).toMatchFileSnapshot(
        `../golden/publish/${engine}.sql`,
      );
    },
  );

  test.each(engines)(
    'of %s for Delta tables in a bucket are those of the golden file',
    async (engine) => {
      const text = lakeDdl(engine, { ...inBucket, isDelta: true });
      await expect(text).toMatchFileSnapshot(`../golden/publish/delta-${engine}.sql`);
    },
  );

  test.each([
    [
      { endpoint: null, region: 'eu-central-1', pathStyle: false },
      'https://example-bucket.s3.eu-central-1.amazonaws.com/a',
    ],
    [
      { endpoint: null, region: null, pathStyle: true },
      'https://s3.amazonaws.com/example-bucket/a',
    ],
    [
      { endpoint: 'http://127.0.0.1:9000', region: null, pathStyle: true },
      'http://127.0.0.1:9000/example-bucket/a',
    ],
    [
      { endpoint: 'https://r2.example.com/x', region: null, pathStyle: false },
      'https://example-bucket.r2.example.com/x/a',
    ],
  ])('of ClickHouse for a store at %j ask at %s', (given, address) => {
    const store = { bucket: 'example-bucket', prefix: 'a', ...given };
    expect(lakeDdl('clickhouse', { ...inBucket, store })).toContain(
      `s3('${address}/undated/*.parquet'`,
    );
  });
});

describe('a lake', () => {
  test('on a disk is none for engines of a cloud, and one whose path holds wildcards none for ClickHouse', () => {
    expect(ddlRefusal('athena', onDisk)).toContain('s3:// alone');
    expect(ddlRefusal('clickhouse', { ...onDisk, root: '/srv/{a}' })).toContain('wildcards');
    expect(
      engines.filter((engine) => ddlRefusal(engine, { ...onDisk, isDelta: true }) !== null),
    ).toEqual(['databricks', 'athena', 'snowflake', 'bigquery']);
  });

  test.each([
    ['/srv/data/lake', 'lake'],
    ['s3://bucket/Mobile Lake/', 'mobile_lake'],
    ['s3://2024-bucket', 'lake_2024_bucket'],
    ['/', 'lake'],
    ['/srv/🙂', 'lake'],
    ['/srv/temp', 'lake_temp'],
  ])('at %s is the schema %s', (root, schema) => {
    const taken = new Set<string>();
    expect([schemaName(root, taken), schemaName(root, taken)]).toEqual([schema, `${schema}_2`]);
  });
});
