/** The statements with which engines read a lake, as text (test/golden/publish). */

import { describe, expect, test } from 'vitest';

import { ddlRefusal, lakeDdl, schemaName } from '../../src/publish/ddl.ts';
import { engines } from '../../src/publish/engines.ts';
import { inBucket, onDisk, troubleNames } from '../support/trouble-lake.ts';

const plainEngines = engines.filter((engine) => ddlRefusal(engine, inBucket) === null);

describe('the statements', () => {
  test.each(plainEngines)('of %s for a lake in a bucket are those of the golden file', async (engine) => {
    await expect(lakeDdl(engine, inBucket)).toMatchFileSnapshot(`../golden/publish/${engine}.sql`);
  });

  test.each(engines)('of %s for Delta tables in a bucket are those of the golden file', async (engine) => {
    const text = lakeDdl(engine, { ...inBucket, isDelta: true });
    await expect(text).toMatchFileSnapshot(`../golden/publish/delta-${engine}.sql`);
  });

  test.each(plainEngines)(
    'of %s state every column of every table once in its type, and quote every name of trouble',
    (engine) => {
      const text = lakeDdl(engine, inBucket)
        .split('\n')
        .filter((line) => !line.startsWith('--'))
        .map((line) => line.replaceAll(/'(?:[^'\\]|''|\\.)*'/g, "''"))
        .join('\n');
      const quotes = /["`]/;
      for (const name of troubleNames.filter((each) => each !== 'month' && each !== 'quarter' && each !== 'week')) {
        const uses = [...text.matchAll(new RegExp(`(.)\\b${name}\\b(.)`, 'g'))];
        expect(uses.length, name).toBeGreaterThan(0);
        // A bare one is a part of a path or of a longer word.
        expect(
          uses.filter(([, before = '', after = '']) => !quotes.test(before) || !quotes.test(after)).map(([use]) => use),
          name,
        ).toEqual([]);
      }
    },
  );

  test.each(engines)('of %s say at their head whether the tests ran them', (engine) => {
    const [, proof = ''] = lakeDdl(engine, { ...inBucket, isDelta: true }).split('\n');
    expect(proof).toMatch(
      engine === 'clickhouse' || engine === 'duckdb' ? /run by the tests/i : /^-- Not run by the tests/,
    );
  });

  test.each([
    [
      { endpoint: null, region: 'eu-central-1', pathStyle: false },
      'https://example-bucket.s3.eu-central-1.amazonaws.com/a',
    ],
    [{ endpoint: null, region: null, pathStyle: true }, 'https://s3.amazonaws.com/example-bucket/a'],
    [{ endpoint: 'http://127.0.0.1:9000', region: null, pathStyle: true }, 'http://127.0.0.1:9000/example-bucket/a'],
    [
      { endpoint: 'https://r2.example.com/x', region: null, pathStyle: false },
      'https://example-bucket.r2.example.com/x/a',
    ],
  ])('of ClickHouse for a store at %j ask at %s', (given, address) => {
    const store = { bucket: 'example-bucket', prefix: 'a', ...given };
    expect(lakeDdl('clickhouse', { ...inBucket, store })).toContain(`s3('${address}/undated/data.parquet'`);
  });

  test('of Athena cut a comment at 255 bytes, at the end of a character', () => {
    const comments = [...lakeDdl('athena', inBucket).matchAll(/ comment '([^']*é[^']*)'/g)].map(
      ([, words = '']) => words,
    );
    expect(Math.max(...comments.map((words) => Buffer.byteLength(words)))).toBe(255);
    expect(comments.join('')).not.toContain('\uFFFD');
  });
});

describe('a lake', () => {
  test('on a disk is none for engines of a cloud, and one whose path holds wildcards none for ClickHouse', () => {
    expect(ddlRefusal('athena', onDisk)).toContain('s3:// alone');
    expect(ddlRefusal('clickhouse', { ...onDisk, root: '/srv/{a}' })).toContain('wildcards');
    expect(engines.filter((engine) => ddlRefusal(engine, { ...onDisk, isDelta: true }) !== null)).toEqual([
      'databricks',
      'athena',
      'snowflake',
      'bigquery',
    ]);
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
