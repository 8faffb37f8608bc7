/** Audits a loaded night before it is published, by queries that must return no row. */

import { rm } from 'node:fs/promises';

import * as z from 'zod';

import type { Audit, Config } from '../config/config.ts';
import { Failure, storageFailed, textOf } from '../errors.ts';
import { warningEvent, type Emit } from '../events.ts';
import { withWarehouse } from '../warehouse/opening.ts';
import { count, jsonOf, statement } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { copyDatabase } from './formats/snapshot.ts';
import { sliceRelations } from './tables.ts';

export interface AuditResult {
  readonly name: string;
  readonly on_fail: Audit['onFail'];
  /** Null if it could not be answered, which fails it too. */
  readonly rows: number | null;
  /** The first rows, their values as text. */
  readonly first: readonly Readonly<Record<string, string | null>>[];
  /** Why it could not be answered, or which slice it still waits for. */
  readonly reason: string | null;
}

const LIMIT_MS = 60_000;
const MAX_SHOWN_ROWS = 5;

const opening = { mode: 'read', lockWaitMs: 0, emit: () => {}, isConfined: true } as const;

const answerRow = z.object({
  rows: count,
  first: jsonOf(z.array(z.record(z.string(), z.string().nullable()))),
});

/** Asks a read-only copy of the warehouse. Throws `STORAGE_FAILED` without room for it, or the signal's reason. */
export async function askAudits(
  { audits, slices }: Pick<Config, 'audits' | 'slices'>,
  warehouse: Warehouse,
  signal: AbortSignal,
  limitMs = LIMIT_MS,
): Promise<AuditResult[]> {
  const copy = `${warehouse.path}.audit`;
  const remove = async () => {
    try {
      for (const path of [copy, `${copy}.wal`]) await rm(path, { force: true });
    } catch (error) {
      const hint = 'Check free space and permissions of the directory.';
      throw storageFailed(`${copy} could not be removed`, error, { hint });
    }
  };
  // A killed run may have left it before the last audit was removed from the configuration.
  if (audits.length === 0)
    return remove().then(
      () => [],
      () => [],
    );
  await remove();
  try {
    await warehouse.run('checkpoint');
    await copyDatabase(warehouse.path, copy, signal);
    return await withWarehouse(copy, { ...opening, signal }, async (night) => {
      const results: AuditResult[] = [];
      for (const { name, onFail, sql } of audits) {
        signal.throwIfAborted();
        const limit = AbortSignal.timeout(limitMs);
        const audit = { name, on_fail: onFail };
        try {
          const [answer = { rows: 0, first: [] }] = await night.interruptibly(
            AbortSignal.any([signal, limit]),
            async () => night.rows(countedRows(sql), [], answerRow),
          );
          results.push({ ...audit, ...answer, reason: null });
        } catch (thrown) {
          signal.throwIfAborted();
          const late = new Error(`it took longer than ${limitMs / 1000} s`);
          const unanswered = await meaningOf(limit.aborted ? late : thrown, night, sql, slices);
          results.push({ ...audit, first: [], ...unanswered });
        }
      }
      return results;
    });
  } finally {
    await remove();
  }
}

/** The lines of the statement before those of the audit. */
const LINES_BEFORE = 2;
/** No column has this name. */
const ROW = '"row,"';

// As text: JSON has neither NaN nor infinity.
const countedRows = (
  sql: string,
) => `select count(*) as rows, coalesce(to_json(list(${ROW} order by "number,") filter ("number," <= ${MAX_SHOWN_ROWS})), '[]')::varchar as first
from (select ${ROW}, row_number() over () as "number," from (select columns(*)::varchar from (
${sql.replace(/[;\s]+$/, '')}
)) as ${ROW})`;

const columnRow = z.object({ name: z.string() }).transform(({ name }) => name.toLowerCase());

/** Returns what an error means: an audit of a slice, or of a column, that is not loaded yet passes. */
async function meaningOf(
  error: unknown,
  night: Warehouse,
  sql: string,
  slices: Config['slices'],
): Promise<Pick<AuditResult, 'rows' | 'reason'>> {
  const text = textOf(error);
  const table = /Table with name (\S+) does not exist/.exec(text)?.[1]?.toLowerCase();
  const column = /column "([^"]+)" not found|have a column named "([^"]+)"/.exec(text);
  const missing = (column?.[1] ?? column?.[2])?.toLowerCase();
  for (const { name, dimensions, metrics, cube } of slices) {
    const isNamed = sliceRelations.some((end) => `${name}${end}` === table);
    const configured = cube === undefined ? [...dimensions, ...metrics] : dimensions;
    const lacking = configured.find((id) => id.toLowerCase() === missing);
    const isLacking = lacking !== undefined && sql.toLowerCase().includes(name);
    if (!isNamed && !isLacking) continue;
    const columns = await night.rows(statement('publish/live_columns'), [name], columnRow);
    const isLoaded = columns.length > 0;
    if (isNamed && !isLoaded) return { rows: 0, reason: `slice ${name} is not loaded yet` };
    if (isLacking && isLoaded && !columns.includes(lacking.toLowerCase()))
      return { rows: 0, reason: `slice ${name} has no column ${lacking} yet` };
  }
  // DuckDB's words, with the line and column in the audit's own text; both count from 1.
  const words = (text.split('\n\nLINE ')[0] ?? text).replaceAll(/\s*\n\s*/g, ' ');
  const [, line, shown = '', indent = ''] = /LINE (\d+): ([^\n]*)\n( *)\^/.exec(text) ?? [];
  if (line === undefined) return { rows: null, reason: words };
  // Of a long line that is shown in part, the column is unknown.
  const position = indent.length - `LINE ${line}: `.length + 1;
  const inLine = shown.startsWith('...') ? '' : `, column ${position}`;
  return { rows: null, reason: `${words} (line ${Number(line) - LINES_BEFORE}${inLine})` };
}

export const isFailedAudit = ({ rows }: AuditResult): boolean => rows !== 0;

export function auditText({ name, rows, first, reason }: AuditResult): string {
  if (rows === null) return `The audit ${name} could not be answered: ${reason}.`;
  if (rows === 0)
    return reason === null ? `The audit ${name} passed.` : `The audit ${name}: ${reason}.`;
  const shown = first.map((row) => JSON.stringify(row)).join(', ');
  const more = rows > first.length ? ', …' : '';
  return `The audit ${name} returned ${rows === 1 ? '1 row' : `${rows} rows`}: ${shown}${more}`;
}

/**
 * Warns of audits that failed and hold nothing. Returns those that failed or wait, and the failures that hold the night back.
 * If no audit can, a full disk is only a warning.
 */
export async function auditNight(
  config: Pick<Config, 'audits' | 'slices'>,
  warehouse: Warehouse,
  { emit, signal }: { readonly emit: Emit; readonly signal: AbortSignal },
): Promise<{ readonly audits: readonly AuditResult[]; readonly held: readonly Failure[] }> {
  const results = await askAudits(config, warehouse, signal).catch((error: unknown) => {
    signal.throwIfAborted();
    const isOfDisk = error instanceof Failure && error.code === 'STORAGE_FAILED';
    if (!isOfDisk || config.audits.some(({ onFail }) => onFail === 'hold')) throw error;
    emit(warningEvent('AUDIT_FAILED', `The audits could not be asked: ${error.message}`));
    return [];
  });
  const held: Failure[] = [];
  for (const audit of results.filter(isFailedAudit)) {
    const message = auditText(audit);
    if (audit.on_fail === 'warn') emit(warningEvent('AUDIT_FAILED', message));
    else {
      const facts = { audit: audit.name, rows: audit.rows };
      const hint =
        'Nothing was published. Correct the data or the audit, then run `ripen publish`.';
      held.push(new Failure('AUDIT_HELD', message, { facts, hint }));
    }
  }
  const audits = results.filter((result) => isFailedAudit(result) || result.reason !== null);
  return { audits, held };
}

/** Prepares each audit against a warehouse that nothing writes to, and that is not open in this process. Returns those that are wrong or wait for a slice. */
export async function auditProblems(
  { audits, slices }: Pick<Config, 'audits' | 'slices'>,
  path: string,
  signal: AbortSignal,
) {
  return withWarehouse(path, { ...opening, signal }, async (night) => {
    const problems: { name: string; message: string; isWaiting: boolean }[] = [];
    for (const { name, sql } of audits) {
      try {
        await night.rows(`explain ${countedRows(sql)}`, [], z.unknown());
      } catch (error) {
        const { rows, reason } = await meaningOf(error, night, sql, slices);
        problems.push({ name, message: reason ?? '', isWaiting: rows === 0 });
      }
    }
    return problems;
  });
}
