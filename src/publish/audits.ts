/**
 * Audits a loaded night before it is published: questions in SQL that must return no row. They are asked of a copy of the
 * warehouse, as analysts would see it, confined: read-only, without other files or network, within a time limit.
 */

import { rm } from 'node:fs/promises';

import * as z from 'zod';

import type { Audit, Config } from '../config/config.ts';
import { Failure, textOf } from '../errors.ts';
import { withWarehouse } from '../warehouse/opening.ts';
import { count, jsonOf } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { copyDatabase, sliceRelations } from './formats/snapshot.ts';

export interface AuditResult {
  readonly name: string;
  readonly on_fail: Audit['onFail'];
  /** How many it returned; null if it could not be answered, which fails it too. */
  readonly rows: number | null;
  /** Of these, the first five. */
  readonly first: readonly Readonly<Record<string, unknown>>[];
  /** Why it could not be answered, or which slice it still waits for. */
  readonly reason: string | null;
}

const LIMIT_MS = 60_000;
const SHOWN = 5;

/** Asks all audits, one after the other. Throws `STORAGE_FAILED` if there is no room for the copy, or the signal's reason. */
export async function askAudits(
  { audits, slices }: Pick<Config, 'audits' | 'slices'>,
  warehouse: Warehouse,
  signal: AbortSignal,
  limitMs = LIMIT_MS,
): Promise<AuditResult[]> {
  if (audits.length === 0) return [];
  const copy = `${warehouse.path}.audit`;
  const remove = async (): Promise<void> => {
    for (const ending of ['', '.wal']) await rm(`${copy}${ending}`, { force: true });
  };
  await remove();
  try {
    await warehouse.run('checkpoint');
    await copyDatabase(warehouse.path, copy, signal);
    return await confined(copy, signal, async (night) => {
      const results: AuditResult[] = [];
      for (const audit of audits) {
        const { name, onFail } = audit;
        const answer = await limited(night, { signal, limitMs }, async () =>
          answerTo(night, audit),
        );
        const of = { name, on_fail: onFail };
        if ('answer' in answer) results.push({ ...of, ...answer.answer, reason: null });
        else results.push({ ...of, first: [], ...(await unanswered(night, slices, answer.error)) });
      }
      return results;
    });
  } finally {
    await remove();
  }
}

const confined = async <T>(
  path: string,
  signal: AbortSignal,
  work: (night: Warehouse) => Promise<T>,
): Promise<T> =>
  withWarehouse(
    path,
    { mode: 'read', lockWaitMs: 0, emit: () => {}, signal, isConfined: true },
    work,
  );

const answerRow = z.object({
  rows: count,
  first: jsonOf(z.array(z.record(z.string(), z.unknown()))),
});

async function answerTo(
  night: Warehouse,
  { sql }: Audit,
): Promise<Pick<AuditResult, 'rows' | 'first'>> {
  const [answer] = await night.rows(countedRows(sql), [], answerRow);
  return answer ?? { rows: 0, first: [] };
}

/** The lines of the statement before those of the audit. */
const LINES_BEFORE = 2;
/** No column has this name. */
const ROW = '"row,"';

const countedRows = (
  sql: string,
): string => `select count(*) as rows, coalesce(to_json(list(${ROW} order by "number,") filter ("number," <= ${SHOWN})), '[]')::varchar as first
from (select ${ROW}, row_number() over () as "number," from (
${sql.replace(/[;\s]+$/, '')}
) as ${ROW})`;

/** Interrupts `work` at the limit or by the signal, whose reason it throws. */
async function limited<T>(
  night: Warehouse,
  { signal, limitMs }: { readonly signal: AbortSignal; readonly limitMs: number },
  work: () => Promise<T>,
): Promise<{ readonly answer: T } | { readonly error: unknown }> {
  const limit = AbortSignal.timeout(limitMs);
  const stop = AbortSignal.any([signal, limit]);
  const interrupt = (): void => night.interrupt();
  stop.addEventListener('abort', interrupt);
  try {
    return { answer: await work() };
  } catch (error) {
    signal.throwIfAborted();
    const late = new Error(`it took longer than ${limitMs / 1000} s`);
    return { error: limit.aborted ? late : error };
  } finally {
    stop.removeEventListener('abort', interrupt);
  }
}

const isLoadedRow = z.object({ slice: z.string() });

/** Returns what an error means: an audit of a slice that is not loaded yet passes. */
async function unanswered(
  night: Warehouse,
  slices: Config['slices'],
  error: unknown,
): Promise<Pick<AuditResult, 'rows' | 'reason'>> {
  const text = textOf(error);
  const table = /Table with name (\S+) does not exist/.exec(text)?.[1];
  const waiting = slices.find(({ name }) =>
    sliceRelations.some((end) => `${name}${end}` === table),
  );
  if (waiting !== undefined) {
    const sql = `select slice from ripen.slice_tables where slice = $1 and state = 'live'`;
    const loaded = await night.rows(sql, [waiting.name], isLoadedRow);
    if (loaded.length === 0) return { rows: 0, reason: `slice ${waiting.name} is not loaded yet` };
  }
  return { rows: null, reason: placedText(text) };
}

/** DuckDB's words, with the line and column in the audit's own text; both count from 1. */
function placedText(text: string): string {
  const words = (text.split('\n\nLINE ')[0] ?? text).replaceAll(/\s*\n\s*/g, ' ');
  const place = /LINE (\d+): ([^\n]*)\n( *)\^/.exec(text);
  if (place === null) return words;
  const [, line = '', shown = '', indent = ''] = place;
  // A long line is shown in part, so that its mark says nothing of the column.
  const column = indent.length - `LINE ${line}: `.length + 1;
  const isWhole = !shown.startsWith('...');
  return `${words} (line ${Number(line) - LINES_BEFORE}${isWhole ? `, column ${column}` : ''})`;
}

export const isFailedAudit = ({ rows }: AuditResult): boolean => rows !== 0;

/** What an audit returned, as one sentence. */
export function auditText({ name, rows, first, reason }: AuditResult): string {
  if (rows === null) return `The audit ${name} could not be answered: ${reason}.`;
  if (rows === 0)
    return reason === null ? `The audit ${name} passed.` : `The audit ${name}: ${reason}.`;
  const shown = first.map((row) => JSON.stringify(row)).join(', ');
  const more = rows > first.length ? ', …' : '';
  return `The audit ${name} returned ${rows === 1 ? '1 row' : `${rows} rows`}: ${shown}${more}`;
}

/**
 * Asks all audits, and tells of those that failed and only warn. Returns those that failed or wait, and the failures that hold the
 * night back. Throws as `askAudits` does.
 */
export async function auditNight(
  config: Pick<Config, 'audits' | 'slices'>,
  warehouse: Warehouse,
  {
    signal,
    tell,
  }: { readonly signal: AbortSignal; readonly tell: (message: string) => Promise<void> | void },
): Promise<{ readonly audits: readonly AuditResult[]; readonly held: readonly Failure[] }> {
  const results = await askAudits(config, warehouse, signal);
  const failed = results.filter(isFailedAudit);
  for (const audit of failed) if (audit.on_fail === 'warn') await tell(auditText(audit));
  const held = failed.flatMap((audit) => {
    const facts = { audit: audit.name, rows: audit.rows };
    const hint =
      'Nothing was published, and readers keep the last good night. Correct the data or the audit, then run `ripen publish`.';
    return audit.on_fail === 'hold'
      ? [new Failure('AUDIT_HELD', auditText(audit), { facts, hint })]
      : [];
  });
  const audits = results.filter((result) => isFailedAudit(result) || result.reason !== null);
  return { audits, held };
}

export interface AuditProblem {
  readonly name: string;
  readonly message: string;
  /** Whether it only waits for a slice. */
  readonly isWaiting: boolean;
}

/** Prepares each audit against a warehouse that nothing writes to. Returns those that could not be asked. */
export async function auditProblems(
  { audits, slices }: Pick<Config, 'audits' | 'slices'>,
  path: string,
  signal: AbortSignal,
): Promise<AuditProblem[]> {
  return confined(path, signal, async (night) => {
    const problems: AuditProblem[] = [];
    for (const { name, sql } of audits) {
      const explained = `explain ${countedRows(sql)}`;
      const error = await night.rows(explained, [], z.unknown()).then(
        () => null,
        (thrown: unknown) => thrown,
      );
      if (error === null) continue;
      const { rows, reason } = await unanswered(night, slices, error);
      problems.push({ name, message: reason ?? '', isWaiting: rows === 0 });
    }
    return problems;
  });
}
