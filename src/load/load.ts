/**
 * Loading: spooled answers → typed rows → replaced windows.
 *
 * Takes a batch of one slice, as one statement over many files is fastest, and judges every window by itself: loaded
 * wholly with its ledger row, or untouched. Nothing is deleted before the answer was shown to be one whole report with
 * the requested keys, inside its days, unique, exact, and complete by the service's own totals.
 */

import { Failure } from '../errors.ts';
import type { Day, WeekStart } from '../model/calendar.ts';
import type { Spooled } from '../spool/spool.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { inspect, objectSizeFor, type Answer, type BrokenAnswer } from './answers.ts';
import { checkDates, checkKeys, outOfOrder, subjectOf, sumsOf, weekStartsOf } from './check.ts';
import { judgeAnswers } from './judge-answers.ts';
import { addTotals, compareTotals, type MetricSum } from './proof.ts';
import type { LoadResult, LoadWarning, Sound } from './load-result.ts';
import { replaceWindow } from './replace.ts';
import { isShrinking } from './shrinking.ts';
import type { Target } from './target.ts';
import { blankWithheld } from './withheld.ts';
import { stageBatch } from './stage.ts';

export interface LoadRequest {
  readonly warehouse: Warehouse;
  readonly target: Target;
  readonly runId: string;
  /** Stands for the fetch instant in every finality decision; null: the instant each window was asked for. */
  readonly asOf: Date | null;
  /** Replaces settled windows also when most of their rows are gone. */
  readonly acceptLoss: boolean;
}

/** Loads what can be loaded of a batch; one result per window. The target may have wider columns afterwards. */
export async function load(
  batch: readonly Spooled[],
  request: LoadRequest,
): Promise<{ readonly results: readonly LoadResult[]; readonly target: Target }> {
  const { warehouse } = request;
  const paths = batch.flatMap(({ answers }) => answers.flatMap(({ body }) => (body === null ? [] : [body.path])));
  const objectSize = objectSizeFor(batch);
  const inspected = new Map((await inspect(warehouse, paths, objectSize)).map((answer) => [answer.path, answer]));
  const results: LoadResult[] = [];
  const sound: Sound[] = [];
  for (const spooled of batch) {
    const answers = answersOf(spooled, inspected);
    const verdict = judgeAnswers(spooled.window, answers);
    if ('kind' in verdict) results.push(verdict);
    else sound.push({ spooled, windowNo: sound.length, ...verdict });
  }
  if (sound.length === 0) return { results, target: request.target };
  const staged = await stageBatch(warehouse, sound, { target: request.target, runId: request.runId });
  const checked = { ...request, target: staged.target };
  const windows = new Map(sound.map(({ windowNo, spooled }) => [windowNo, spooled.window]));
  const badDates = staged.isEmpty ? new Map<number, Failure>() : await checkDates(warehouse, staged.target, windows);
  const { conflicts, copies } = await checkKeys(warehouse, staged.target, windows);
  const sums = await sumsOf(warehouse, staged.target, windows.keys(), new Set(copies.keys()));
  const weekStarts = await weekStartsIn(sound, checked);
  const unordered = staged.isEmpty ? new Set<number>() : await outOfOrder(warehouse, staged.target);
  for (const each of sound) {
    const { windowNo } = each;
    const failure = staged.failures.get(windowNo) ?? badDates.get(windowNo) ?? conflicts.get(windowNo);
    const weekStartsOn = weekStarts.get(windowNo);
    const found = {
      rejectedDays: staged.rejected.get(windowNo) ?? [],
      copies: copies.get(windowNo) ?? 0,
      sums: sums.get(windowNo) ?? [],
      isOrdered: !unordered.has(windowNo),
    };
    if (weekStartsOn !== undefined) {
      results.push({ kind: 'week start', window: each.spooled.window, weekStartsOn });
    } else if (failure !== undefined) {
      results.push({ kind: 'failed', window: each.spooled.window, failure });
    } else {
      results.push(await loadWindow(each, checked, found));
    }
  }
  return { results, target: staged.target };
}

/** An answer without rows and without totals states nothing to compare with. */
function saysSomething(answer: Answer): boolean {
  return answer.rowCount > 0 || answer.totals.size > 0;
}

/** What inspection found for each part of a window, in order; null for a part the service had nothing for. */
function answersOf(
  spooled: Spooled,
  inspected: ReadonlyMap<string, Answer | BrokenAnswer>,
): (Answer | BrokenAnswer | null)[] {
  return spooled.answers.map(({ body }) => (body === null ? null : (inspected.get(body.path) ?? null)));
}

/** The windows whose labels show that the service begins weeks on another day than was assumed. */
async function weekStartsIn(
  sound: readonly Sound[],
  { warehouse, target }: LoadRequest,
): Promise<ReadonlyMap<number, WeekStart>> {
  if (target.slice.grain !== 'week' || sound.every(({ answers }) => answers.length === 0)) return new Map();
  const found = await weekStartsOf(warehouse);
  for (const { windowNo, spooled } of sound) {
    const assumed = new Date(`${spooled.window.replaced.start}T00:00:00Z`).getUTCDay();
    if (found.get(windowNo) === assumed) found.delete(windowNo);
  }
  return found;
}

interface Found {
  readonly rejectedDays: readonly (Day | null)[];
  readonly copies: number;
  readonly sums: readonly MetricSum[];
  readonly isOrdered: boolean;
}

async function loadWindow(sound: Sound, request: LoadRequest, found: Found): Promise<LoadResult> {
  const { warehouse, target, runId } = request;
  const { spooled, windowNo, answers } = sound;
  const { window } = spooled;
  const rejected = found.rejectedDays.length;
  const fetched = answers.reduce((sum, answer) => sum + answer.rowCount, 0);
  const proof = compareTotals(
    found.sums,
    addTotals(answers.filter(saysSomething).map(({ totals }) => totals)),
    fetched,
  );
  const wrong = proof.find(({ agrees }) => !agrees);
  if (wrong !== undefined && found.rejectedDays.length === 0) {
    const message = `${subjectOf(window)}: the rows' ${wrong.metric} added up to ${wrong.sum}, the service's total was ${wrong.total}.`;
    const facts = { metric: wrong.metric, sum: wrong.sum, total: wrong.total };
    return {
      kind: 'split',
      window,
      partNo: sound.heaviest,
      failure: new Failure('DATA_INCOMPLETE', message, { facts, hint: 'Run again later; nothing was loaded.' }),
    };
  }
  const fetchedAt = request.asOf ?? spooled.requestedAt;
  await blankWithheld(warehouse, target, { window, windowNo, fetchedAt });
  const shrinking = request.acceptLoss ? null : await isShrinking(warehouse, target, window, fetched, fetchedAt);
  if (shrinking !== null) {
    return { kind: window.attempt === 0 ? 'ask again' : 'failed', window, failure: shrinking };
  }
  // Rows left out take their values out of every sum, so nothing can be compared.
  const verdict = proof.length === 0 || rejected > 0 ? 'unverifiable' : 'proven';
  const replaced = await replaceWindow(
    warehouse,
    target,
    {
      spooled,
      windowNo,
      fetched,
      rejectedDays: found.rejectedDays,
      collapse: found.copies > 0,
      isOrdered: found.isOrdered,
      verdict,
      proof,
      fetchedAt,
    },
    runId,
  );
  return { kind: 'loaded', window, fetched, rejected, warnings: warningsOf(sound, found), ...replaced };
}

function warningsOf(sound: Sound, found: Found): LoadWarning[] {
  return [
    ...sound.warnings,
    ...(found.copies === 0
      ? []
      : [
          {
            code: 'DUPLICATE_ROWS',
            message: `${found.copies} identical rows came more than once; one of each was kept.`,
          },
        ]),
    ...(found.rejectedDays.length === 0
      ? []
      : [
          {
            code: 'REJECTED_ROWS',
            message: `${found.rejectedDays.length} rows could not be stored exactly; see ripen.rejected_rows.`,
          },
        ]),
  ];
}
