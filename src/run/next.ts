/** Whether smaller requests help a window that fell short or is too large. Pure. */

import type { Shortfall, Split } from '../load/answered.ts';
import { partId, type Window } from '../model/window.ts';
import type { Round } from '../extract/spool.ts';
import { sumOf } from '../model/measure.ts';

/**
 * If only assumed metrics disagree, and smaller requests return no more rows, the rows are complete and the assumption was
 * wrong.
 */
export function courseOf(
  { values, window, shortfall, spooled: { round } }: Split,
  canRequest: boolean,
): 'divide' | 'not additive' | 'fail' {
  if (!canRequest) return shortfall?.isAssumed === true ? 'not additive' : 'fail';
  if (shortfall === null || window.periods.length > 1) return 'divide';
  const { rows, differences, isAssumed, isCut } = shortfall;
  if (round === null) {
    const isOneValue = rows.size === 1 && [...values.values()].every((some) => some.length < 2);
    return isAssumed && isOneValue ? 'not additive' : 'divide';
  }
  const total = sumOf(rows.values());
  const isShown = round.halves.every((half) => (rows.get(half) ?? 0) > 0);
  const hasGrown = round.hasGrown || total > round.rows;
  if (isAssumed && isShown && !hasGrown) return 'not additive';
  // The sum of a metric that does not add up comes nearer only by chance.
  const isNearer =
    !isAssumed &&
    [...round.differences].some(([metric, away]) => (differences.get(metric) ?? 0) < away);
  return isCut || isNearer || total > round.rows ? 'divide' : 'fail';
}

export function roundAfter(
  shortfall: Shortfall | null,
  before: Round | null,
  from: Window,
  into: Window,
): Round | null {
  if (shortfall === null) return null;
  const rows = sumOf(shortfall.rows.values());
  const parts = new Set(from.parts.map(partId));
  return {
    rows,
    differences: shortfall.differences,
    hasGrown: before !== null && (before.hasGrown || rows > before.rows),
    halves: into.parts.map(partId).filter((id) => !parts.has(id)),
  };
}
