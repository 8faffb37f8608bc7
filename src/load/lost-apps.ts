/**
 * Apps that filters-data no longer lists. Lost access is no correction: until an answer names such an app, its stored rows
 * stay. Where rows do not name their app, final periods that were loaded with it stay.
 */

import * as z from 'zod';

import { type Day, type DayInterval, unionOf } from '../model/calendar.ts';
import type { Slice } from '../model/slice.ts';
import { ownValues, type Window, windowOf } from '../model/window.ts';
import {
  appColumn,
  appValues,
  type LostApps,
  rowsOfLost,
  untoldIn,
} from '../warehouse/tables/lost-apps.ts';
import { insideDays, type Target } from '../warehouse/tables/target.ts';
import { count, dayShape, identifier } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import type { Staged } from './staged-sql.ts';
import { countReplaced } from './table-sql.ts';

const namedRow = z.object({ name: z.string() });

async function namedIn(
  lost: LostApps,
  slice: Slice,
  table: string,
  warehouse: Warehouse,
  inside = 'true',
) {
  const [column, condition] = [appColumn(slice), rowsOfLost(lost, slice)];
  if (column === undefined || condition === null) return [];
  const sql = `select distinct ${identifier(column)} as name from ${table} where ${condition} and (${inside})`;
  const names = new Set((await warehouse.rows(sql, [], namedRow)).map(({ name }) => name));
  const named = [...lost.values()].filter((app) =>
    appValues(app, column).some((name) => names.has(name)),
  );
  return named.map((app) => app.app_token);
}

export async function removeNamed(
  lost: LostApps,
  { slice, typed }: Staged,
  warehouse: Warehouse,
): Promise<void> {
  for (const token of await namedIn(lost, slice, typed, warehouse)) lost.delete(token);
}

const countRow = z.object({ start_day: dayShape, rows: count });

export async function rowsWithout(
  lost: string,
  { target, staged }: { readonly target: Target; readonly staged: Staged },
  warehouse: Warehouse,
): Promise<ReadonlyMap<Day, number>> {
  const counts = unionOf(staged.windows.map(({ spooled }) => spooled.window.replaced)).map((days) =>
    countReplaced(target, days, lost),
  );
  const rows = await warehouse.rows(counts.join('\nunion all\n'), [], countRow);
  return new Map(rows.map((row) => [row.start_day, row.rows]));
}

export function requestsOnlyLost(slice: Slice, lost: LostApps): boolean {
  const tokens = ownValues(slice, 'app_token') ?? [];
  return tokens.length > 0 && tokens.every((token) => lost.has(token));
}

/** Null if the window names no lost app, or no other one. */
export function withoutLost(
  { slice, fingerprint, periods, parts }: Window,
  lost: LostApps,
): Window | null {
  const tokens = ownValues(slice, 'app_token') ?? [];
  const { app_token__not_in: excluded = '', ...parameters } = slice.parameters;
  const excludedTokens = excluded.split(',');
  const named = parts.flatMap(({ app_token: values }) => [
    ...(values?.in ?? []),
    ...(values?.notIn ?? []),
  ]);
  const isNamed = [...tokens, ...excludedTokens, ...named].some((token) => lost.has(token));
  if (!isNamed || requestsOnlyLost(slice, lost)) return null;
  const listed = (all: readonly string[]) => all.filter((token) => !lost.has(token)).join(',');
  const filters = Object.entries({
    app_token__in: listed(tokens),
    app_token__not_in: listed(excludedTokens),
  }).filter(([, value]) => value !== '');
  const others = { ...slice, parameters: { ...parameters, ...Object.fromEntries(filters) } };
  return windowOf(others, fingerprint, periods);
}

export async function lostAppsIn(
  warehouse: Warehouse,
  { slice, fingerprint, table }: Pick<Target, 'slice' | 'fingerprint' | 'table'>,
  lost: LostApps,
  inside: readonly DayInterval[] | null = null,
): Promise<string[]> {
  const within = (grain: Parameters<typeof insideDays>[0]) =>
    inside?.map((days) => insideDays(grain, days)).join(' or ') ?? 'true';
  if (inside?.length === 0) return [];
  // A period that lacks an added metric stays only if it was final before.
  const days = within(slice.grain === null ? null : 'start_day');
  const sql = `select count(*) as rows from (from ripen.periods where ${days}) as p
    join ripen.loads as l on l.load_id = p.load_id
    where p.slice = $1 and p.fingerprint = $2 and p.load_id <= $3
      and (p.state = 'final' or not list_has_all(l.metrics, from_json($4::json, '["VARCHAR"]')))`;
  const metrics = JSON.stringify(slice.metrics);
  const names = await namedIn(lost, slice, table, warehouse, within(slice.grain));
  for (const { app_token: token, last_load: load } of untoldIn(lost, slice)) {
    const [row] = await warehouse.rows(
      sql,
      [slice.name, fingerprint, load, metrics],
      countRow.pick({ rows: true }),
    );
    if (row !== undefined && row.rows > 0 && !names.includes(token)) names.push(token);
  }
  return names;
}
