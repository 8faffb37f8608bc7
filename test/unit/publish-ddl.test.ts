/** The statements with which engines read a lake, as text (test/golden/publish): one engine whole, the others as differences. */

import { describe, expect, test } from 'vitest';

import { lakeDdl, schemaName } from '../../src/publish/words/ddl.ts';
import { ddlRefusal } from '../../src/publish/words/engine-text.ts';
import { engines } from '../../src/publish/words/engines.ts';
import { inBucket, onDisk } from '../support/hostile-names.ts';

/** Returns each run of lines that replaces lines of `base`, headed by their numbers, such as `@ 7-9`. */
function lineDifferences(base: string, text: string): string {
  const [before, after] = [base.split('\n'), text.split('\n')];
  // The longest common part of what follows each pair of lines.
  const common = Array.from({ length: before.length + 1 }, () =>
    Array.from({ length: after.length + 1 }, () => 0),
  );
  const commonAt = (one: number, other: number): number => common[one]?.[other] ?? 0;
  for (let one = before.length - 1; one >= 0; one -= 1)
    for (let other = after.length - 1; other >= 0; other -= 1) {
      const row = common[one];
      if (row === undefined) continue;
      row[other] =
        before[one] === after[other]
          ? commonAt(one + 1, other + 1) + 1
          : Math.max(commonAt(one + 1, other), commonAt(one, other + 1));
    }
  const found: string[] = [];
  for (let [one, other] = [0, 0]; one < before.length || other < after.length;) {
    const [first, lines] = [one, [] as string[]];
    while (
      (one < before.length || other < after.length) &&
      (before[one] !== after[other] || one >= before.length || other >= after.length)
    ) {
      if (other >= after.length || commonAt(one + 1, other) >= commonAt(one, other + 1)) {
        if (one < before.length) one += 1;
        else lines.push(after[other++] ?? '');
      } else lines.push(after[other++] ?? '');
    }
    if (one > first || lines.length > 0)
      found.push(`@ ${first + 1}${one > first ? `-${one}` : ''}`, ...lines);
    one += 1;
    other += 1;
  }
  return `${found.join('\n')}\n`;
}

const plainEngines = engines.filter((engine) => ddlRefusal(engine, inBucket) === null);
const tables = { ...inBucket, files: 'Delta tables', night: 12 } as const;
/** Run by the tests, and the measure of all others, whose quotes are made equal. */
const whole = lakeDdl('duckdb', tables);
const quoted = (text: string): string => text.replaceAll('`', '"');

describe('the statements', () => {
  test('of duckdb for Delta tables in a bucket are those of the golden file', async () => {
    await expect(whole).toMatchFileSnapshot('../golden/publish/delta-duckdb.sql');
  });

  test.each(plainEngines)(
    'of %s for a lake in a bucket differ from those for Delta tables as in its golden file',
    async (engine) => {
      const text = lineDifferences(lakeDdl(engine, tables), lakeDdl(engine, inBucket));
      await expect(text).toMatchFileSnapshot(`../golden/publish/${engine}.txt`);
    },
  );

  test.each(engines.filter((engine) => engine !== 'duckdb'))(
    'of %s for Delta tables in a bucket differ from them as in its golden file',
    async (engine) => {
      const text = lineDifferences(whole, quoted(lakeDdl(engine, tables)));
      await expect(text).toMatchFileSnapshot(`../golden/publish/delta-${engine}.txt`);
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
      engines.filter((engine) => ddlRefusal(engine, { ...onDisk, files: 'Delta tables' }) !== null),
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
