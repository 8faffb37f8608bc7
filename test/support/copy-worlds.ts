/** Sequences of what may become of a warehouse and its copies, drawn from a seed: nights, backups, hands in the files. */

import { randomUUID } from 'node:crypto';
import { cpSync, existsSync, readdirSync, renameSync, rmSync, truncateSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { expect } from 'vitest';

import type { PublishTarget } from '../../src/config/config.ts';
import { withDatabase } from '../../src/publish/places/database.ts';
import { contentsOf } from '../../src/publish/formats/snapshot.ts';
import { deltaRows } from './delta-reader.ts';
import { draws } from './delta-worlds.ts';
import { countSteps } from './failing-step.ts';
import { changeRows, empty, loadDay, newDay, reload, restate } from './ledger-fixtures.ts';
import { storeRows } from './ledger-rows.ts';
import { openSample, rowsOf, type Sample } from './sample-warehouse.ts';

const DAYS = 6;
/** A year of so many is one file; the dense days of some nights are not. */
const ROWS_PER_DAY = 5;
const DENSE_ROWS = 30_000;

/** A world and what was done to it, to be told when a law fails. */
export interface CopyWorld {
  readonly sample: Sample;
  readonly done: string[];
  pass(): Promise<void>;
  /** Publishes undisturbed; returns how each copy differs from the warehouse. */
  differences(): Promise<string[]>;
}

export async function openWorld(seed: number): Promise<CopyWorld> {
  const sample = await openSample(DAYS, ROWS_PER_DAY);
  // They would take most of the time and are like the others.
  const dimensions = await rowsOf(
    sample.warehouse,
    `select view_name as name from duckdb_views() where schema_name = 'main' and not internal and view_name <> 'network_daily_final'`,
  );
  for (const { name } of dimensions)
    await sample.warehouse.alter(`drop view main."${String(name)}"`);
  const draw = draws(seed);
  const done: string[] = [];
  const paths: Record<PublishTarget['kind'], string> = {
    duckdb: sample.path('analytics.duckdb'),
    delta: sample.path('tables'),
    parquet: sample.path('lake'),
  };
  let night = 0;
  let backups = 0;
  const targets = (): PublishTarget[] => [
    { kind: 'duckdb', path: paths.duckdb, mode: 0o644 },
    { kind: 'delta', path: paths.delta, mode: 0o644, keepMs: draw(2) * 86_400_000 },
    { kind: 'parquet', path: paths.parquet, mode: 0o644 },
  ];
  const lakes = ['delta', 'parquet'] as const;

  const backup = async (): Promise<void> => {
    backups += 1;
    await sample.lend(async () =>
      cpSync(sample.path('warehouse.duckdb'), sample.path(`warehouse-${backups}`)),
    );
    for (const [kind, path] of Object.entries(paths))
      if (existsSync(path))
        cpSync(path, sample.path(`${kind}-${backups}`), {
          recursive: true,
          preserveTimestamps: true,
        });
  };
  const restoreWarehouse = async (from: number): Promise<void> =>
    sample.lend(async () =>
      cpSync(sample.path(`warehouse-${from}`), sample.path('warehouse.duckdb')),
    );
  const restoreCopy = async (kind: keyof typeof paths, from: number): Promise<void> => {
    const saved = sample.path(`${kind}-${from}`);
    if (!existsSync(saved)) return;
    // Half of the times over what is there, as a restore without deletion does.
    if (draw(2) === 0) rmSync(paths[kind], { recursive: true, force: true });
    cpSync(saved, paths[kind], { recursive: true, preserveTimestamps: draw(2) === 0 });
  };
  const filesBelow = (folder: string): string[] =>
    existsSync(folder)
      ? readdirSync(folder, { recursive: true, withFileTypes: true })
          .filter((entry) => entry.isFile())
          .map((entry) => join(entry.parentPath, entry.name))
          .sort()
      : [];
  const spoil = (kind: (typeof lakes)[number]): void => {
    const files = filesBelow(paths[kind]).filter((path) => !path.endsWith('catalog.duckdb'));
    for (let count = draw(8); count >= 0; count -= 1) {
      const path = files[draw(files.length)];
      if (path === undefined || !existsSync(path)) continue;
      if (draw(3) === 0) truncateSync(path, draw(20));
      else rmSync(path);
    }
  };
  const schemaChange = async (name: string, change: string): Promise<void> => {
    const row = { run_id: randomUUID(), object: 'network_daily', name, change };
    await storeRows(sample.warehouse, 'ripen.schema_changes', row);
  };
  const days = async (): Promise<string[]> =>
    (
      await rowsOf(
        sample.warehouse,
        'select distinct day::varchar as day from network_daily order by 1',
      )
    ).map(({ day }) => String(day));

  /** What loads, changes of the configuration and `drop` do to the warehouse. */
  const load = async (): Promise<void> => {
    const known = await days();
    const any = (): string => known[draw(known.length)] ?? '2026-01-01';
    night += 1;
    const today = new Date(Date.UTC(2026, 0, 10 + night * 11)).toISOString().slice(0, 10);
    if (known.length > 0) await newDay(sample.warehouse, today, any());
    else
      await loadDay(
        sample.warehouse,
        today,
        `select DATE '${today}' as day, 'app' as app_token, 'n' as network, 1 as installs, 1 as cost, 1 as revenue, 1 as ecpi, '{}' as attr_dependency, null as _extra, 0 as _load_id`,
      );
    await restate(sample.warehouse, any(), 1 + draw(9));
    const what = draw(12);
    done.push(`load ${what}`);
    const { warehouse } = sample;
    const columns = await rowsOf(
      warehouse,
      `select column_name as name from duckdb_columns() where table_name = 'network_daily' and schema_name = 'main'`,
    );
    const has = (column: string): boolean => columns.some(({ name }) => name === column);
    if (what === 0) await empty(warehouse, any());
    if (what === 1) await reload(warehouse, any());
    if (what === 2 || what === 3) {
      const name = what === 2 ? 'added' : 'other';
      await warehouse.alter(
        `alter table main.network_daily ${has(name) ? `drop column ${name}` : `add column ${name} BIGINT`}`,
      );
      await schemaChange(name, has(name) ? 'column removed' : 'column added');
    }
    for (const name of ['added', 'other'])
      if (what === 4 && has(name))
        await changeRows(warehouse, `${name} = ${night}`, `day = DATE '${any()}'`);
    if (what === 5) {
      const before = any();
      await warehouse.run(`delete from main.network_daily where day < DATE '${before}'`);
      await warehouse.run(
        `delete from ripen.periods where slice = 'network_daily' and start_day < DATE '${before}'`,
      );
    }
    if (what === 6)
      await loadDay(
        warehouse,
        any(),
        `select h.* replace (h.installs + r as installs) from held as h, range(${DENSE_ROWS}) as t(r) limit ${DENSE_ROWS}`,
      );
    if (what === 7) {
      await warehouse.alter('drop table if exists main.app_totals');
      await warehouse.run(`delete from ripen.slice_tables where slice = 'app_totals'`);
      if (draw(2) === 0) {
        await warehouse.alter(
          `create table main.app_totals as select app_token, count(*)::bigint as installs, ${-night}::bigint as _load_id from main.network_daily group by 1`,
        );
        await storeRows(warehouse, 'ripen.slice_tables', { slice: 'app_totals' });
      }
    }
    if (what === 8) {
      // The meaning changes: the whole table is another one, of new loads.
      for (const day of await days()) await reload(warehouse, day);
    }
  };

  const publishSome = async (): Promise<void> => {
    const chosen = targets().filter(() => draw(4) > 0);
    const isStopped = draw(3) === 0;
    const from = 1 + draw(400);
    done.push(
      `publish ${chosen.map(({ kind }) => kind).join()}${isStopped ? ` until ${from}` : ''}`,
    );
    if (!isStopped) {
      await sample.publish(chosen);
      return;
    }
    const steps = await countSteps((step) => step >= from);
    await sample.publish(chosen).catch(() => null);
    steps.stop();
  };

  return {
    sample,
    done,
    async pass() {
      // Hourly runs load nothing most of the time: what then becomes of the copies is mended all the same.
      if (draw(4) > 0) await load();
      const what = draw(10);
      const from = 1 + draw(Math.max(1, backups));
      done.push(`hand ${what}`);
      if (what === 0 || backups === 0) await backup();
      else if (what === 1) await restoreWarehouse(from);
      else if (what === 2) await restoreCopy(lakes[draw(2)] ?? 'delta', from);
      else if (what === 3) await restoreCopy('duckdb', from);
      else if (what === 4) spoil(lakes[draw(2)] ?? 'delta');
      else if (what === 5)
        rmSync(paths[lakes[draw(2)] ?? 'delta'], { recursive: true, force: true });
      else if (what === 6) {
        const kind = lakes[draw(2)] ?? 'delta';
        const moved = join(dirname(paths[kind]), `${kind}-moved-${night}`);
        if (existsSync(paths[kind])) renameSync(paths[kind], moved);
        paths[kind] = moved;
      }
      await publishSome();
    },
    async differences() {
      await sample.publish(targets());
      const found: string[] = [];
      const { warehouse } = sample;
      const slices = (
        await rowsOf(warehouse, 'select distinct slice from ripen.slice_tables order by 1')
      ).map(({ slice }) => String(slice));
      const relations = [
        ...slices.map((slice) => [slice, `main."${slice}"`] as const),
        ['ripen_finality', 'ripen.finality'],
      ] as const;
      const ledger = [
        ['ripen_periods', 'ripen.periods'],
        ['ripen_loads', 'ripen.loads'],
      ] as const;
      const columnsOf = async (relation: string): Promise<string> => {
        const columns = await rowsOf(warehouse, `describe from ${relation}`);
        const names = columns.map(({ column_name }) => `"${String(column_name)}"`);
        return names
          .filter((name) => !/^"(_load_id|fetched_at)"/.test(name))
          .sort()
          .join();
      };
      const compare = async (what: string, source: string, wanted: string): Promise<void> => {
        try {
          const columns = await columnsOf(wanted);
          expect(await columnsOf(source)).toBe(columns);
          const [stored, expected] = [source, wanted].map(
            (from, at) =>
              `select columns(*)::varchar, ${1 - 2 * at} as "copies," from (select ${columns} from ${from})`,
          );
          const differing = `select sum("copies,") from (${stored} union all ${expected}) group by ${columns} having sum("copies,") <> 0`;
          const rows = await rowsOf(warehouse, differing);
          if (rows.length > 0) found.push(`${what}: ${rows.length} rows of one alone`);
        } catch (error) {
          found.push(`${what}: ${String(error)}`);
        }
      };
      for (const [name, relation] of [...relations, ...ledger]) {
        await compare(`delta ${name}`, await deltaRows(join(paths.delta, name)), relation);
      }
      for (const [name, relation] of relations) {
        const has = await rowsOf(warehouse, `select count(*)::int as n from ${relation}`);
        const files = filesBelow(join(paths.parquet, name));
        if (has[0]?.['n'] === 0 && files.length === 0) continue;
        await compare(`parquet ${name}`, `'${paths.parquet}/${name}/*.parquet'`, relation);
      }
      const known = new Set<string>([...relations, ...ledger].map(([name]) => name));
      for (const slice of ['app_totals'])
        if (!known.has(slice) && filesBelow(join(paths.parquet, slice)).length > 0)
          found.push(`parquet ${slice} is left over`);
      const dropped = join(paths.delta, 'app_totals');
      const isData = (path: string) => path.endsWith('.parquet') && !path.includes('_delta_log');
      if (!known.has('app_totals') && filesBelow(dropped).some(isData))
        await compare(
          'delta app_totals is left over',
          await deltaRows(dropped),
          '(select app_token, installs from main.network_daily where false)',
        );
      const snapshot = await withDatabase(paths.duckdb, 'READ_ONLY', contentsOf);
      if (JSON.stringify(snapshot) !== JSON.stringify(await contentsOf(warehouse)))
        found.push('snapshot');
      return found;
    },
  };
}
