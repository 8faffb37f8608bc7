/** Apps that filters-data no longer lists, and what control totals show of slices. */

import * as z from 'zod';

import type { Config } from '../../config/config.ts';
import { type ControlEvidence, movedTotals } from '../../model/control.ts';
import { type Day, MS_PER_DAY } from '../../model/calendar.ts';
import { fingerprintOf, type Slice } from '../../model/slice.ts';
import { ownValues } from '../../model/window.ts';
import {
  count,
  dayShape,
  identifier,
  instant,
  jsonOf,
  literal,
  statement,
  timestamp,
} from '../sql.ts';
import type { Warehouse } from '../warehouse.ts';

const lostRow = z.object({
  app_token: z.string(),
  names: z.array(z.string()),
  is_untold: z.boolean(),
  last_load: count,
});

type LostApp = z.infer<typeof lostRow>;

/** By token: the names that only this app had, and the newest load before it was lost. */
export type LostApps = Map<string, LostApp>;

export async function readLostApps(warehouse: Warehouse): Promise<LostApps> {
  const rows = await warehouse.rows(statement('catalog/lost_apps'), [], lostRow);
  return new Map(rows.map((row) => [row.app_token, row]));
}

export const appColumn = ({
  dimensions,
}: Pick<Slice, 'dimensions'>): 'app_token' | 'app' | undefined =>
  (['app_token', 'app'] as const).find((name) => dimensions.includes(name));

/** The values of a column that are only of a lost app. */
export const appValues = (app: LostApp, column: 'app_token' | 'app'): readonly string[] =>
  column === 'app' ? app.names : [app.app_token];

/** The lost apps whose rows in a slice cannot be told from others: rows name no app, or by a name that a listed app has too. */
export function untoldIn(lost: LostApps, slice: Slice): LostApp[] {
  const column = appColumn(slice);
  return [...lost.values()].filter(
    (app) =>
      (column === undefined || (column === 'app' && app.is_untold)) &&
      mayHaveApp(slice, app.app_token),
  );
}

/** By its filters of tokens. */
export const mayHaveApp = (slice: Slice, token: string): boolean =>
  ownValues(slice, 'app_token')?.includes(token) !== false &&
  ownValues(slice, 'app_token', 'not_in')?.includes(token) !== true;

/** By slice, the first days of periods that stay as they were fetched. */
export type KeptPeriods = ReadonlyMap<string, ReadonlySet<Day>>;

const keptRow = z
  .object({ slice: z.string(), days: z.array(dayShape) })
  .transform(({ slice, days }) => [slice, new Set(days)] as const);

export async function keptPeriods(
  warehouse: Warehouse,
  slices: readonly Slice[],
  lost: LostApps,
): Promise<KeptPeriods> {
  const tables = slices.flatMap((slice) => {
    const loads = untoldIn(lost, slice).map((app) => app.last_load);
    const table = { slice: slice.name, fingerprint: fingerprintOf(slice) };
    return loads.length === 0 ? [] : [{ ...table, protected_load: Math.max(...loads) }];
  });
  if (tables.length === 0) return new Map();
  const sql = statement('catalog/kept_periods');
  return new Map(await warehouse.rows(sql, [JSON.stringify(tables)], keptRow));
}

export function rowsOfLost(lost: LostApps, slice: Slice): string | null {
  const column = appColumn(slice);
  if (column === undefined) return null;
  const values = [...lost.values()].flatMap((app) => appValues(app, column));
  return values.length === 0
    ? null
    : `${identifier(column)} in (${values.map(literal).join(', ')})`;
}

/** For the statements that compare totals. */
export function comparedTables(slices: readonly Slice[], kept: KeptPeriods): object[] {
  return slices.map((slice) => {
    const days = [...(kept.get(slice.name) ?? [])];
    return { slice: slice.name, fingerprint: fingerprintOf(slice), kept: days };
  });
}

const movedRow = z.object({ slice: z.string(), moved: jsonOf(z.array(movedTotals)) });
/** Of one statement: the totals of more might not fit into the engine's memory. */
const MAX_SLICES = 60;
const failedRow = z.object({
  slice: z.string(),
  first_day: dayShape,
  last_day: dayShape,
  failed_at: instant,
});
/** One that failed longer ago is as good as new. */
const FAILED_MS = 30 * MS_PER_DAY;
const restlessRow = z.object({ slice: z.string(), metric: z.string() });

/** Consecutive nights in which most final totals of a restless metric move. */
export const RESTLESS_NIGHTS = 3;

/** Returns the totals that moved outside kept periods, and restless metrics. */
export async function controlEvidence(
  { controlMs }: Pick<Config, 'controlMs'>,
  warehouse: Warehouse,
  slices: readonly Slice[],
  planAt: Date,
  kept: KeptPeriods,
): Promise<Map<string, ControlEvidence>> {
  if (controlMs === null) return new Map();
  const tables = comparedTables(slices, kept);
  const moved: z.infer<typeof movedRow>[] = [];
  for (let from = 0; from < tables.length; from += MAX_SLICES) {
    const some = JSON.stringify(tables.slice(from, from + MAX_SLICES));
    const request = [timestamp(planAt), some];
    moved.push(...(await warehouse.rows(statement('control/moved'), request, movedRow)));
  }
  if (moved.length === 0) return new Map();
  const nights = [RESTLESS_NIGHTS];
  const restless = await warehouse.rows(statement('control/restless'), nights, restlessRow);
  const since = [timestamp(new Date(planAt.getTime() - FAILED_MS))];
  const failures = await warehouse.rows(statement('control/failed'), since, failedRow);
  return new Map(
    moved.map(({ slice, moved: totals }) => {
      const metrics = restless.filter((row) => row.slice === slice).map(({ metric }) => metric);
      const failed = failures
        .filter((row) => row.slice === slice)
        .map(({ first_day: first, last_day: last, failed_at: at }) => ({ first, last, at }));
      const inOrder = totals.flat().toSorted((one, other) => one.start.localeCompare(other.start));
      return [slice, { moved: inOrder, restless: new Set(metrics), failed }];
    }),
  );
}
