/**
 * What the column reader costs, beside other ways to the same rows. From the repository's root:
 * `node --import ./config/tooling/strip-types.mjs test/bench/reader/columns.ts [rows]`. Bodies of 25,000 rows, 8 dimensions
 * and 12 metrics as texts; prints wall time, rows a second and processor time per million rows.
 */

import { mkdtempSync, readFileSync, rmSync, writeFileSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

import { DuckDBInstance } from '@duckdb/node-api';

import { BIGINT, DOUBLE, formatColumnType, MONEY } from '../../../src/model/column-type.ts';
import { openColumnReader } from '../../../src/spool/columns/column-reader.ts';
import type { SliceColumns } from '../../../src/spool/columns/reading.ts';

const ROWS = Number(process.argv[2] ?? 1_000_000);
const ROWS_PER_BODY = 25_000;
const REPEATS = 3;

const texts = ['app_token', 'app', 'partner_id', 'partner_name', 'network', 'os_name', 'country_code'];
const counts = ['installs', 'clicks', 'impressions', 'sessions', 'cohort_size_d7'];
const money = ['cost', 'network_cost', 'revenue', 'all_revenue_total_d7', 'all_revenue_total_d30'];
const ratios = ['ecpi', 'roas_d30'];
const columns: SliceColumns = {
  dimensions: [{ name: 'day', kind: 'day' }, ...texts.map((name) => ({ name, kind: 'text' }) as const)],
  metrics: [
    ...counts.map((name) => ({ name, type: BIGINT })),
    ...money.map((name) => ({ name, type: MONEY })),
    ...ratios.map((name) => ({ name, type: DOUBLE })),
  ],
};

let state = 1;
const chance = (): number => {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
  return state / 2 ** 32;
};

/** One row; `distinct` gives its network a name of its own. */
function rowOf(at: number, distinct: boolean): string {
  const [app, network] = [at % 4, Math.floor(at / 4) % 20];
  const day = new Date(Date.UTC(2026, 0, 1 + (Math.floor(at / 900) % 31))).toISOString().slice(0, 10);
  const name = distinct ? `Example Network ${network} of ${at}` : `Example Network ${network}`;
  const values = [`abcdefghij${app}0`, `Example Application ${app}`, 100 + network, `Example Partner ${network}`, name];
  const cells = [
    `"attr_dependency":{"partner_id":"${100 + network}"},"day":"${day}"`,
    ...[...values, app % 2 === 0 ? 'ios' : 'android', 'US'].map((value, place) => `"${texts[place]}":"${value}"`),
    ...counts.map((metric) => `"${metric}":"${Math.floor(chance() ** 3 * 1e6)}"`),
    ...[...money, ...ratios].map((metric) => `"${metric}":"${(chance() ** 3 * 1e3).toFixed(3)}"`),
  ];
  return `{${cells.join(',')}}`;
}

function makeBodies(folder: string, distinct: boolean): string[] {
  const paths: string[] = [];
  for (let first = 0; first < ROWS; first += ROWS_PER_BODY) {
    const rows = Array.from({ length: Math.min(ROWS_PER_BODY, ROWS - first) }, (_, at) => rowOf(first + at, distinct));
    const path = join(folder, `${distinct ? 'distinct' : 'usual'}.${first}.json`);
    const body = `{"rows":[${rows.join(',')}],"totals":{"installs":1.0},"warnings":[],"pagination":null}`;
    writeFileSync(path, body);
    writeFileSync(`${path}.gz`, gzipSync(body, { level: 1 }));
    paths.push(path);
  }
  return paths;
}

async function measure(what: string, work: () => unknown): Promise<void> {
  const measured: { readonly ms: number; readonly cpuMs: number }[] = [];
  for (let repeat = 0; repeat < REPEATS; repeat += 1) {
    const [before, start] = [process.cpuUsage(), performance.now()];
    await work();
    const { user, system } = process.cpuUsage(before);
    measured.push({ ms: performance.now() - start, cpuMs: (user + system) / 1000 });
  }
  const ms = Math.min(...measured.map((each) => each.ms));
  const cpuMs = Math.min(...measured.map((each) => each.cpuMs));
  const figures = `${Math.round(ms)} ms, ${Math.round(ROWS / ms)} k rows/s, processor ${((cpuMs / ROWS) * 1e3).toFixed(2)} s per million rows`;
  process.stdout.write(`${what}: ${figures}, ${Math.round(process.memoryUsage().rss / 1e6)} MB\n`);
}

const folder = mkdtempSync(join(tmpdir(), 'ripen-columns-bench-'));
const reader = openColumnReader();
try {
  const usual = makeBodies(folder, false);
  const distinct = makeBodies(folder, true);
  let made = 0;
  const read = async (paths: readonly string[], encoding: 'gzip' | 'identity'): Promise<string> => {
    made += 1;
    const to = join(folder, `${made}.parquet`);
    const bodies = paths.map((path) => ({
      path: encoding === 'gzip' ? `${path}.gz` : path,
      encoding,
      plainBytes: statSync(path).size,
    }));
    const result = await reader.read({ bodies, columns, to });
    if (result.unfit.size > 0 || result.hasRejected) throw new Error(JSON.stringify(result));
    return to;
  };
  await measure('column reader, plain bodies', async () => read(usual, 'identity'));
  await measure('column reader, gzip bodies', async () => read(usual, 'gzip'));
  await measure('column reader, a text of its own in every row', async () => read(distinct, 'identity'));
  const connection = await (await DuckDBInstance.create(':memory:', { threads: '2' })).connect();
  await connection.run('set preserve_insertion_order = false');
  for (const [kind, paths] of Object.entries({ usual, distinct })) {
    const parquet = `from read_parquet('${await read(paths, 'identity')}')`;
    await measure(`insert from Parquet, ${kind} texts`, async () => {
      await connection.run(`create or replace table loaded as ${parquet} limit 0`);
      await connection.run(`insert into loaded select * replace (json(attr_dependency) as attr_dependency) ${parquet}`);
    });
  }
  const types = [
    ...columns.dimensions.map(({ name, kind }) => ({ name, cast: kind === 'day' ? 'DATE' : 'VARCHAR' })),
    ...columns.metrics.map(({ name, type }) => ({ name, cast: formatColumnType(type) })),
  ];
  const shape = `STRUCT(${types.map(({ name }) => `${name} VARCHAR`).join(', ')}, attr_dependency JSON)[]`;
  const files = usual.map((path) => `'${path}'`).join(', ');
  await measure('insert from read_json, cast and unchecked', async () => {
    await connection.run(`create or replace table loaded as
      select ${types.map(({ name, cast }) => `r.${name}::${cast} as ${name}`).join(', ')}, r.attr_dependency
      from (select unnest(rows) as r from read_json([${files}], format = 'unstructured', records = true,
        auto_detect = false, maximum_object_size = 64000000, columns = {rows: '${shape}'}))`);
  });
  await measure('JSON.parse alone', () => {
    for (const path of usual) JSON.parse(readFileSync(path, 'utf8'));
  });
} finally {
  await reader.close();
  rmSync(folder, { recursive: true });
}
