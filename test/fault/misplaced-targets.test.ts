/** FAULTS 45: targets that would overwrite what is not their own, refused before the first request. */

import { mkdir, readFile, realpath, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { placeFindings } from '../../src/check/places.ts';
import type { Config, PublishTarget } from '../../src/config/config.ts';
import type { Failure } from '../../src/errors.ts';
import { publish as publishVerb } from '../../src/index.ts';
import { day } from '../../src/model/calendar.ts';
import { checkingAt } from '../support/checking.ts';
import { column } from '../support/contents.ts';
import { smallWorld } from '../support/night.ts';
import { openScenario, type Scenario } from '../support/scenario.ts';
import { failureFrom } from '../support/scripted-server.ts';
import { dailyInstalls } from '../support/slice.ts';

const NOW = new Date('2026-06-01T02:30:00Z');

const daily = dailyInstalls({ first: { day: day('2026-05-28') }, last: { day: day('2026-05-31') } });

let scenario: Scenario;
let inside: (...names: string[]) => string;

beforeEach(async () => {
  scenario = await openScenario([daily], { simulator: { world: smallWorld } });
  const directory = await realpath(scenario.directory);
  inside = (...names) => join(directory, ...names);
});
afterEach(async () => scenario.close());

const snapshotAt = (path: string): PublishTarget => ({ kind: 'duckdb', path, mode: 0o644 });
const lakeAt = (path: string): PublishTarget => ({ kind: 'parquet', path, mode: 0o644 });

/** The failure of a sync that asked for nothing; `check` and `publish` say the same. */
async function refusal(change: Partial<Config>): Promise<Failure> {
  const asked = scenario.simulator.asked.requests.length;
  const failure = await failureFrom(scenario.night(NOW, change));
  expect(scenario.simulator.asked.requests).toHaveLength(asked);
  const findings = await placeFindings({ ...scenario.config, ...change }, checkingAt(NOW));
  expect(findings.filter(({ code }) => code !== null).map(({ message }) => message)).toContain(failure.message);
  return failure;
}

describe('a configuration that is at fault, exit 78:', () => {
  test('a lake where Delta tables lie, and Delta tables where a lake lies: who reads the folder would read both', async () => {
    const tables: PublishTarget = { kind: 'delta', path: inside('copy'), mode: 0o644, keepMs: 0 };
    const other: PublishTarget = { ...tables, path: inside('lake') };
    await scenario.night(NOW, { publish: [tables, lakeAt(inside('lake'))] });
    expect(await refusal({ publish: [lakeAt(inside('copy'))] })).toMatchObject({
      code: 'USAGE_INVALID',
      message: `The folder ${inside('copy')}, meant for plain files, held Delta tables of an earlier configuration.`,
    });
    expect(await refusal({ publish: [other] })).toMatchObject({
      code: 'USAGE_INVALID',
      message: `The folder ${inside('lake')}, meant for Delta tables, held plain files of an earlier configuration.`,
    });
  });

  const warehouse = (): string => inside('warehouse.duckdb');

  test.each(['.wal', '.tmp', '.spool', '.archive', '.drafts'])(
    'a snapshot and a lake at the %s of the warehouse, and below it',
    async (ending) => {
      const change = { warehouse: warehouse() };
      for (const path of [`${warehouse()}${ending}`, `${warehouse()}${ending}/deep/er`]) {
        for (const target of [snapshotAt(path), lakeAt(path)]) {
          const { kind, message } = await refusal({ ...change, publish: [target] });
          expect([kind, message]).toEqual(['usage', expect.stringContaining(`${target.kind} ${path}`)]);
        }
      }
    },
  );

  test('the warehouse inside a lake, and a lake inside another, each told', async () => {
    await mkdir(inside('lake'));
    const publish = [lakeAt(inside('lake')), lakeAt(inside('lake', 'more')), snapshotAt(inside('lake.duckdb'))];
    const { kind, message } = await refusal({ warehouse: inside('lake', 'w.duckdb'), publish: publish.slice(0, 1) });
    expect([kind, message]).toEqual([
      'usage',
      `The warehouse ${inside('lake', 'w.duckdb')} and the parquet ${inside('lake')} overlapped: ${inside('lake', 'w.duckdb')} lay inside ${inside('lake')}.`,
    ]);
    expect((await refusal({ publish })).message).toContain(`${inside('lake', 'more')} lay inside ${inside('lake')}`);
  });

  test('a target that is one of these by way of a link to a folder', async () => {
    await mkdir(inside('data'));
    await symlink(inside('data'), inside('linked'));
    const publish = [snapshotAt(inside('linked', 'w.duckdb'))];
    const { kind, message } = await refusal({ warehouse: inside('data', 'w.duckdb'), publish });
    expect([kind, message]).toEqual(['usage', expect.stringContaining('was written for both')]);
    await mkdir(inside('data', 'w.duckdb.spool'));
    await symlink(inside('data', 'w.duckdb.spool'), inside('away'));
    const below = { warehouse: inside('data', 'w.duckdb'), publish: [lakeAt(inside('away', 'lake'))] };
    expect((await refusal(below)).message).toContain(inside('data', 'w.duckdb.spool', 'lake'));
  });

  test.each(['ripen.duckdb', 'Ripen.prod.db', '.ripen', 'what?.duckdb'])(
    'a warehouse or snapshot called %s',
    async (name) => {
      expect(await refusal({ warehouse: inside(name) })).toMatchObject({ kind: 'usage' });
      const { kind, message } = await refusal({ publish: [snapshotAt(inside(name))] });
      expect([kind, message]).toEqual(['usage', expect.stringContaining(inside(name))]);
    },
  );
});

test.each(['delta', 'parquet'] as const)(
  'a %s target below a folder that engines take for a column, exit 78, before the first request',
  async (kind) => {
    const path = inside('day=2020-01-01', 'lake');
    const { code, message } = await refusal({ publish: [{ kind, path, mode: 0o644, keepMs: 0 }] });
    expect([code, message]).toEqual(['USAGE_INVALID', expect.stringContaining('holds the folder day=2020-01-01')]);
  },
);

describe('what lies there, exit 74:', () => {
  test('a link in the place of a snapshot or a lake, also one that leads nowhere, and what it leads to stays', async () => {
    await writeFile(inside('precious'), 'mine');
    await mkdir(inside('folder'));
    await symlink(inside('precious'), inside('a.duckdb'));
    await symlink(inside('folder'), inside('lake'));
    await symlink(inside('nowhere'), inside('b.duckdb'));
    for (const [target, to] of [
      [snapshotAt(inside('a.duckdb')), ` to ${inside('precious')}`],
      [lakeAt(inside('lake')), ` to ${inside('folder')}`],
      [snapshotAt(inside('b.duckdb')), ''],
    ] as const) {
      const { kind, message } = await refusal({ publish: [target] });
      expect([kind, message]).toEqual(['storage', `The ${target.kind} ${target.path} was a symbolic link${to}.`]);
    }
    expect(await readFile(inside('precious'), 'utf8')).toBe('mine');
  });

  describe('another warehouse', () => {
    let other: Scenario;
    const ids = async (): Promise<string[]> =>
      Promise.all(
        [other, scenario].map(async (each) => (await column(each, 'select id from ripen.warehouse_identity')).join()),
      );
    const path = (name: string): string => join(other.directory, name);
    const theirs = (): PublishTarget[] => [snapshotAt(path('analytics.duckdb')), lakeAt(path('lake'))];

    beforeEach(async () => {
      other = await openScenario([daily], { simulator: { world: smallWorld } });
      await other.night(NOW, { publish: theirs() });
      await scenario.night(NOW);
    });
    afterEach(async () => other.close());

    test.each(['analytics.duckdb', 'lake', 'warehouse.duckdb'])(
      'or its copy, as its %s, and stays as it was',
      async (name) => {
        const [found = '', own = ''] = await ids();
        expect(found).toMatch(/^[0-9a-f-]{36}$/);
        expect(found).not.toBe(own);
        const target = name === 'lake' ? lakeAt(path(name)) : snapshotAt(path(name));
        const file = name === 'lake' ? path('lake/_manifest.json') : path(name);
        const before = await readFile(file);
        const { code, message, hint } = await refusal({ publish: [target] });
        expect([code, message]).toEqual([
          'WAREHOUSE_FOREIGN',
          `The publish target ${path(name)} was a copy of the warehouse ${found}, not of ${scenario.config.warehouse}, which is ${own}.`,
        ]);
        expect(hint).toContain('move the copy away');
        const { failures, published } = await publishVerb({ ...scenario.config, publish: [target] });
        expect([published, failures.map((failure) => failure.message)]).toEqual([[], [message]]);
        expect(before.equals(await readFile(file))).toBe(true);
      },
    );
  });
});
