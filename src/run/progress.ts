/** Decides whether dividing a window that falls short still helps, and builds the failures of windows beyond help. Pure. */

import { Failure } from '../errors.ts';
import type { Shortfall, SplitResult } from '../load/load-result.ts';
import { lastDay, spanOf, weekdayName, weekdayOf, type WeekStart } from '../model/calendar.ts';
import type { PeriodRecord } from '../model/ledger.ts';
import { partId, subjectOf, type Window } from '../model/window.ts';

/** The state of a window that fell short, before some of its parts were divided. */
export interface Round {
  readonly rows: number;
  readonly differences: Shortfall['differences'];
  /** Whether an earlier division returned more rows, so that answers are cut. */
  readonly hasGrown: boolean;
  /** The parts (`partId`) that the division made. */
  readonly halves: readonly string[];
}

/**
 * Decides what to do with a window that fell short or is too large. A source that cannot request again cannot divide.
 *
 * An assumption is no reason to refuse an answer forever. If only metrics that seem to add up, by their names, disagree, and
 * smaller requests return no more rows, the rows are complete and the assumption was wrong.
 */
export function courseOf(
  { values, window, shortfall }: Pick<SplitResult, 'values' | 'window' | 'shortfall'>,
  before: Round | undefined,
  canRequest: boolean,
): 'divide' | 'not additive' | 'fail' {
  if (!canRequest) return shortfall?.isAssumed === true ? 'not additive' : 'fail';
  if (shortfall === null || window.periods.length > 1) return 'divide';
  const { rows, differences, isAssumed, isCut } = shortfall;
  if (before === undefined) {
    const isOneValue = rows.size === 1 && [...values.values()].every((some) => some.length < 2);
    return isAssumed && isOneValue ? 'not additive' : 'divide';
  }
  const total = totalOf(rows);
  const isShown = before.halves.every((half) => (rows.get(half) ?? 0) > 0);
  const hasGrown = before.hasGrown || total > before.rows;
  if (isAssumed && isShown && !hasGrown) return 'not additive';
  // The sum of a metric that does not add up comes nearer only by chance.
  const isNearer =
    !isAssumed &&
    [...before.differences].some(([metric, away]) => (differences.get(metric) ?? 0) < away);
  return isCut || isNearer || total > before.rows ? 'divide' : 'fail';
}

/** The round that begins with a division. */
export function roundAfter(
  { rows, differences }: Shortfall,
  before: Round | undefined,
  { from, into }: { readonly from: Window; readonly into: Window },
): Round {
  const total = totalOf(rows);
  const known = new Set(from.parts.map(partId));
  return {
    rows: total,
    differences,
    hasGrown: before !== undefined && (before.hasGrown || total > before.rows),
    halves: into.parts.map(partId).filter((id) => !known.has(id)),
  };
}

const totalOf = (rows: Shortfall['rows']): number =>
  [...rows.values()].reduce((sum, each) => sum + each, 0);

/** The failure of an archived answer. One that is too heavy cannot be divided and will not become lighter with time. */
export function beyondReplay(failure: Failure, { slice, requested }: Window): Failure {
  const { code, message, facts, cause } = failure;
  if (code !== 'SOURCE_TOO_HEAVY') return failure;
  const backfill = `ripen backfill --slice ${slice.name} --from ${requested.start} --to ${lastDay(requested)}`;
  const hint = `Run \`${backfill}\`, which can request less at a time.`;
  return new Failure('ENGINE_MEMORY', message, { facts, hint, cause });
}

/** The failure of a window whose weeks begin on another day than the stored ones; no table may mix them. */
export function otherWeeks(
  window: Window,
  weekStartsOn: WeekStart,
  stored: readonly PeriodRecord[],
): Failure {
  const { slice, requested, replaced } = window;
  const { start, end } = spanOf(requested, ...stored.map((period) => period.requested));
  const names = `a ${weekdayName(weekStartsOn)}, and those loaded before on a ${weekdayName(weekdayOf(replaced.start))}`;
  const backfill = `ripen backfill --slice ${slice.name} --from ${start} --to ${lastDay({ start, end })}`;
  return new Failure('DATA_MALFORMED', `${subjectOf(window)}: its weeks began on ${names}.`, {
    hint: `If they stay so, begin anew: \`ripen drop --slice ${slice.name}\`, then \`${backfill}\`; or use the dimension day.`,
  });
}
