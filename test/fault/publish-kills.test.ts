import { existsSync, readdirSync, statSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';

import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';

import { contentsOf } from '../../src/publish/formats/snapshot.ts';
import { withDatabase } from '../../src/publish/places/database.ts';
import { readDelta, sortedRows, versionsOf } from '../support/delta-reader.ts';
import { randomFrom } from '../support/random.ts';
import { changeRows, heldRows } from '../support/ledger-fixtures.ts';
import { storeRows } from '../support/ledger-rows.ts';
import { useObjectStore } from '../support/object-store.ts';
import { compilePublisher, type Publisher } from '../support/publisher.ts';
import { ask, openSample, rowsOf, type Sample } from '../support/sample-warehouse.ts';

const DAYS = 20;
/** So many that the days are 4 files, of a week each. */
const ROWS_PER_DAY = 850;
const FILES = 4;

let publisher: Publisher;
let sample: Sample;

beforeAll(async () => {
  publisher = await compilePublisher();
});
afterAll(async () => publisher.remove());

beforeEach(async () => {
  sample = await openSample(DAYS, ROWS_PER_DAY);
});

const targets = (): Parameters<Sample['publish']>[0] => [
  { kind: 'parquet', path: sample.path('lake'), mode: 0o644 },
  { kind: 'duckdb', path: sample.path('analytics.duckdb'), mode: 0o644 },
];

const filesIn = (folder: string): string[] =>
  existsSync(folder)
    ? readdirSync(folder, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name))
    : [];

const lakeFiles = (): string[] =>
  filesIn(join(sample.path('lake'), 'network_daily')).filter((path) => path.endsWith('.parquet'));

/** What a reader finds of each day, wherever the files stand: never a torn file, never two versions of one day. */
async function installsInLake(): Promise<Record<string, unknown>[]> {
  return lakeFiles().length === 0 ? [] : installsIn(sample.path('lake'));
}

function installsIn(lake: string): Promise<Record<string, unknown>[]> {
  return ask(
    ':memory:',
    `select day::varchar as day, count(*)::integer as rows, sum(installs)::varchar as installs
     from read_parquet('${lake}/network_daily/*.parquet') group by day order by day`,
  );
}

const installsInWarehouse = (): Promise<Record<string, unknown>[]> =>
  rowsOf(
    sample.warehouse,
    `select day::varchar as day, count(*)::integer as rows, sum(installs)::varchar as installs
     from network_daily group by day order by day`,
  );

/** What killed publishers left; in Delta tables it goes once it is as old as `keep` says. */
const unfinished = (root = ''): string[] =>
  filesIn(join(sample.directory, root)).filter(
    (path) =>
      path.includes('unfinished') && (root !== '' || !path.startsWith(sample.path('tables'))),
  );

/** A killed publisher has counted a publish that the test does not know. */
const isCounted = (line: string): boolean => !line.includes('ripen_internal.publishes');

async function expectComplete(): Promise<void> {
  await sample.publish(targets());
  expect(await installsInLake()).toEqual(await installsInWarehouse());
  expect(unfinished()).toEqual([]);
  const contents = await withDatabase(sample.path('analytics.duckdb'), 'READ_ONLY', contentsOf);
  expect(contents).toEqual(await contentsOf(sample.warehouse));
  const [lake] = await sample.publish(targets());
  expect(lake?.files_written).toBe(0);
}

/** How many times a publisher is killed on the same copies; `npm run test:publisher` kills it 50 times. */
const KILLS = Number(process.env['RIPEN_PUBLISH_KILLS'] ?? '4');

test(
  `a publisher killed ${KILLS} times, by turns in lake, snapshot, bucket and Delta tables, leaves whole files and whole nights, and at last completes`,
  async () => {
    const store = await useObjectStore();
    const root = sample.path('tables');
    const tables = { kind: 'delta', path: root, mode: 0o644, keepMs: 86_400_000 } as const;
    const everywhere = [...targets(), store.lake('lake'), tables];
    const versions = (table: string): number[] => versionsOf(join(root, table));
    const heldIn = async (): Promise<string> => JSON.stringify(sortedRows(await heldRows(sample)));
    const nights = new Set<string>();
    await sample.publish(everywhere);
    const days = new Set<string>();
    const states = new Set<string>();
    const addStates = async (): Promise<void> => {
      for (const day of await installsInWarehouse()) days.add(JSON.stringify(day));
      states.add(JSON.stringify((await contentsOf(sample.warehouse)).filter(isCounted)));
      nights.add(await heldIn());
    };
    await addStates();
    const unfinishedSnapshot = sample.path('analytics.duckdb.ripen-unfinished');
    const moments = [
      (count: number) => {
        const before = new Set(lakeFiles().map((path) => statSync(path).ino));
        return () => lakeFiles().filter((path) => !before.has(statSync(path).ino)).length >= count;
      },
      (count: number) => {
        let seenAt = Infinity;
        return () => {
          if (seenAt === Infinity && existsSync(unfinishedSnapshot)) seenAt = Date.now();
          return Date.now() - seenAt >= count;
        };
      },
      (count: number) => {
        store.requests.length = 0;
        return () => store.requests.filter(({ method }) => method === 'PUT').length >= count;
      },
      (count: number) => {
        const table = ['network_daily', 'apps', 'ripen_loads'][count % 3] ?? '';
        const before = versions(table).length;
        return () => versions(table).length > before;
      },
    ];
    const random = randomFrom(20_260_101);
    let kills = 0;
    while (kills < KILLS) {
      await changeRows(sample.warehouse, 'installs = installs + 1');
      await storeRows(sample.warehouse, 'ripen.warnings', { message: `kill ${kills}` });
      await addStates();
      const moment = moments[kills % moments.length]?.(Math.ceil(random() * FILES)) ?? (() => true);
      if (!(await publisher.publishAndKill(sample, everywhere, moment))) continue;
      kills += 1;
      const copy = sample.path(`bucket-${kills}`);
      await store.download('lake', copy);
      for (const lake of [sample.path('lake'), copy]) {
        const found = await installsIn(lake);
        expect(found).toHaveLength(DAYS);
        expect(found.filter((day) => !days.has(JSON.stringify(day)))).toEqual([]);
      }
      await rm(copy, { recursive: true });
      const snapshot = await withDatabase(sample.path('analytics.duckdb'), 'READ_ONLY', contentsOf);
      expect(states.has(JSON.stringify(snapshot.filter(isCounted)))).toBe(true);
      const daily = join(root, 'network_daily');
      for (const version of [versions('ripen_finality').at(-1), undefined])
        expect(nights.has(JSON.stringify(await readDelta(daily, version)))).toBe(true);
    }
    await expectComplete();
    await sample.publish(everywhere);
    const complete = sample.path('bucket-complete');
    await store.download('lake', complete);
    expect(await installsIn(complete)).toEqual(await installsInWarehouse());
    expect((await sample.publish(everywhere)).map((copy) => copy.files_written)).toEqual([
      0, 1, 0, 0,
    ]);
    expect(JSON.stringify(await readDelta(join(root, 'network_daily')))).toBe(await heldIn());
    // Every night that finality has is whole: each table has it too.
    for (const night of versions('ripen_finality'))
      for (const table of ['network_daily', 'apps', 'links', 'ripen_loads'])
        expect(versions(table)).toContain(night);
    for (let night = 0; night < 2; night += 1) await sample.publish([{ ...tables, keepMs: 0 }]);
    expect(unfinished('tables')).toEqual([]);
  },
  60_000 + KILLS * 20_000,
);
