/** FAULTS 27, 45, 46: places that a run could not write to, or must not: refused before the first request by a sync, and by check in the same words. */

import { spawnSync } from 'node:child_process';
import { mkdir, readdir, readFile, realpath, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { afterEach, beforeEach, expect, test, vi } from 'vitest';

import { placeFindings } from '../../src/report/check/warehouse.ts';
import type { Config, PublishTarget } from '../../src/config/config.ts';
import type { Failure } from '../../src/errors.ts';
import { publish as publishVerb } from '../../src/index.ts';
import { day } from '../../src/model/calendar.ts';
import { checkingAt } from '../support/checking.ts';
import { column } from '../support/contents.ts';
import { textWith } from '../support/matching.ts';
import { smallWorld } from '../support/night.ts';
import { openScenario, type Scenario } from '../support/scenario.ts';
import { failureFrom } from '../support/scripted-server.ts';
import { dailyInstalls } from '../support/slice.ts';

const NOW = new Date('2026-06-01T02:30:00Z');
const daily = dailyInstalls({
  first: { day: day('2026-05-28') },
  last: { day: day('2026-05-31') },
});

let scenario: Scenario;
let inside: (...names: string[]) => string;
const mounted: string[] = [];

beforeEach(async () => {
  scenario = await openScenario([daily], { simulator: { world: smallWorld } });
  const directory = await realpath(scenario.directory);
  inside = (...names) => join(directory, ...names);
});
afterEach(async () => {
  vi.unstubAllEnvs();
  for (const path of mounted.splice(0)) spawnSync('umount', ['--lazy', path]);
});

const snapshotAt = (path: string): PublishTarget => ({ kind: 'duckdb', path, mode: 0o644 });
const lakeAt = (path: string): PublishTarget => ({ kind: 'parquet', path, mode: 0o644 });
const tablesAt = (path: string): PublishTarget => ({ kind: 'delta', path, mode: 0o644, keepMs: 0 });

/** The messages of what `check` finds wrong. */
async function found(change: Partial<Config>): Promise<string[]> {
  const findings = await placeFindings({ ...scenario.config, ...change }, checkingAt(NOW));
  return findings.filter(({ code }) => code !== null).map(({ message }) => message);
}

/** The failure of a sync that asked for nothing and made nothing; `check` says the same. */
async function refusal(change: Partial<Config>): Promise<Failure> {
  const [requested, before] = [
    scenario.simulator.requested.requests.length,
    await readdir(inside()),
  ];
  const failure = await failureFrom(scenario.night(NOW, change));
  expect(scenario.simulator.requested.requests).toHaveLength(requested);
  expect(await readdir(inside())).toEqual(before);
  const messages = await found(change);
  expect(messages.length > 1 ? messages.join('; ') : messages).toContain(failure.message);
  return failure;
}

interface Place {
  readonly kind: 'storage' | 'usage';
  /** Makes what lies there; what is configured then, and what is said of it. */
  readonly made: () => Promise<{
    readonly change: Partial<Config>;
    readonly says: readonly string[];
  }>;
}

const places: Record<string, Place> = {
  'a snapshot and a lake that cannot be, both told at once': {
    kind: 'storage',
    async made() {
      await writeFile(inside('file'), '');
      await mkdir(inside('snapshot.duckdb'));
      const publish = [
        snapshotAt(inside('snapshot.duckdb')),
        lakeAt(inside('file', 'lake')),
        snapshotAt(inside('a.db')),
      ];
      const says = [
        '(a directory in the place of the file); The parquet',
        'file (not a directory)',
      ];
      return { change: { publish }, says };
    },
  },
  'a link in the place of a lake': {
    kind: 'storage',
    async made() {
      await mkdir(inside('folder'));
      await symlink(inside('folder'), inside('lake'));
      const says = [`The parquet ${inside('lake')} is a symbolic link to ${inside('folder')}.`];
      return { change: { publish: [lakeAt(inside('lake'))] }, says };
    },
  },
  'the warehouse inside a lake': {
    kind: 'usage',
    async made() {
      await mkdir(inside('lake'));
      const change = { warehouse: inside('lake', 'w.duckdb'), publish: [lakeAt(inside('lake'))] };
      return { change, says: [`${inside('lake', 'w.duckdb')} lay inside ${inside('lake')}.`] };
    },
  },
  'a snapshot that is the warehouse by way of a link to its folder': {
    kind: 'usage',
    async made() {
      await mkdir(inside('data'));
      await symlink(inside('data'), inside('linked'));
      const change = {
        warehouse: inside('data', 'w.duckdb'),
        publish: [snapshotAt(inside('linked', 'w.duckdb'))],
      };
      return { change, says: ['was written for both'] };
    },
  },
};
for (const ending of ['.wal', '.spool', '.archive', '.drafts', '.audit']) {
  places[`a lake below the ${ending} of the warehouse`] = {
    kind: 'usage',
    async made() {
      const warehouse = inside('warehouse.duckdb');
      const lake = lakeAt(`${warehouse}${ending}/deep/er`);
      return { change: { warehouse, publish: [lake] }, says: [`parquet ${lake.path}`] };
    },
  };
}
for (const name of ['ripen.duckdb', '.ripen', 'what?.duckdb']) {
  places[`a snapshot called ${name}`] = {
    kind: 'usage',
    made: async () => ({ change: { publish: [snapshotAt(inside(name))] }, says: [inside(name)] }),
  };
}
for (const targetAt of [tablesAt, lakeAt]) {
  places[`${targetAt('').kind} below a folder that engines take for a column`] = {
    kind: 'usage',
    made: async () => ({
      change: { publish: [targetAt(inside('day=2020-01-01', 'lake'))] },
      says: ['holds the folder day=2020-01-01'],
    }),
  };
}

test.each(Object.entries(places))('%s is refused', async (_, { kind, made }) => {
  const { change, says } = await made();
  const failure = await refusal(change);
  expect(failure.kind).toBe(kind);
  for (const words of says) expect(failure.message).toContain(words);
});

test('a disk that is mounted read-only is told for the warehouse and each copy', async ({
  skip,
}) => {
  await mkdir(inside('disk'));
  const { status: code } = spawnSync('mount', ['-t', 'tmpfs', '-o', 'ro', 'tmpfs', inside('disk')]);
  if (code !== 0) skip('no read-only file system could be mounted');
  mounted.push(inside('disk'));
  const publish = [
    snapshotAt(inside('disk', 'snapshot.duckdb')),
    lakeAt(inside('disk', 'new', 'lake')),
  ];
  const { message } = await failureFrom(
    scenario.night(NOW, { warehouse: inside('disk', 'w.duckdb'), publish }),
  );
  expect(message.match(/\(EROFS\)/g)).toHaveLength(3);
  expect(scenario.simulator.requested.requests).toEqual([]);
});

test('a lake where Delta tables lie, and Delta tables where a lake lies, are refused: who reads the folder would read both', async () => {
  await scenario.night(NOW, { publish: [tablesAt(inside('tables')), lakeAt(inside('lake'))] });
  for (const [target, wanted, held] of [
    [lakeAt(inside('tables')), 'plain files', 'Delta tables'],
    [tablesAt(inside('lake')), 'Delta tables', 'plain files'],
  ] as const) {
    const message = `The folder ${target.path} contains ${held} of an earlier configuration, not ${wanted}.`;
    expect(await refusal({ publish: [target] })).toMatchObject({ code: 'USAGE_INVALID', message });
  }
});

test('another warehouse, or its copy, is refused as a target and stays as it was', async () => {
  const other = await openScenario([daily], { simulator: { world: smallWorld } });
  const path = (name: string): string => join(other.directory, name);
  await other.night(NOW, { publish: [snapshotAt(path('analytics.duckdb')), lakeAt(path('lake'))] });
  await scenario.night(NOW);
  const idOf = async (of: Scenario): Promise<string> =>
    (await column(of, 'select id from ripen_internal.warehouse_identity')).join();
  const [theirs, own] = [await idOf(other), await idOf(scenario)];
  for (const [target, file] of [
    [snapshotAt(path('analytics.duckdb')), path('analytics.duckdb')],
    [lakeAt(path('lake')), path('lake/_manifest.json')],
    [snapshotAt(path('warehouse.duckdb')), path('warehouse.duckdb')],
  ] as const) {
    const before = await readFile(file);
    const message = `${target.path} is a copy of another warehouse (${theirs}), not of ${scenario.config.warehouse} (${own}).`;
    const said = { code: 'WAREHOUSE_FOREIGN', message, hint: textWith('move the copy away') };
    expect(await refusal({ publish: [target] })).toMatchObject(said);
    const { failures, published } = await publishVerb({ ...scenario.config, publish: [target] });
    expect([published, failures.map((failure) => failure.message)]).toEqual([[], [message]]);
    expect(before.equals(await readFile(file))).toBe(true);
  }
});
