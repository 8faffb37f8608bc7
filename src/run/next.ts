/** What a run does with a window that could not be loaded as it is. Pure. */

import type { Failure } from '../errors.ts';
import type { Again, Failed, Shortfall, Split } from '../load/outcome.ts';
import { boxId, partId, type Window, windowOf } from '../model/window.ts';
import type { PendingWindow, Round, Spooled } from '../extract/spool.ts';

type NextStep =
  | { readonly kind: 'fail'; readonly failure: Failure }
  | { readonly kind: 'request'; readonly pending: PendingWindow; readonly because: string }
  | { readonly kind: 'divide'; readonly split: Split }
  /** Load the answers as they are. */
  | { readonly kind: 'accept'; readonly pending: PendingWindow }
  /** Stop summing these metrics, and request the undivided window. */
  | {
      readonly kind: 'not additive';
      readonly metrics: readonly string[];
      readonly spooled: Spooled;
      readonly pending: PendingWindow;
    };

/** A source that cannot request again can neither repeat nor divide. */
export function next(outcome: Failed | Again | Split, canRequest: boolean): NextStep {
  if (outcome.kind === 'failed') return { kind: 'fail', failure: outcome.failure };
  const { spooled, failure, window } = outcome;
  if (outcome.kind === 'again') {
    if (!canRequest) return { kind: 'fail', failure };
    const { boxes, isConfirmation } = outcome;
    const answers = spooled.answers.filter(({ box }) => boxes?.has(boxId(box)) === false);
    return {
      kind: 'request',
      because: failure.message,
      pending: {
        window,
        // A confirmation may be doubted as often as a first answer, and so may a smaller window.
        doubts:
          window.periods.length < spooled.window.periods.length ||
          (isConfirmation && !spooled.isConfirmation)
            ? 0
            : spooled.doubts + 1,
        isConfirmation,
        round: boxes === null ? null : spooled.round,
        answers: new Map(answers.map((answer) => [boxId(answer.box), answer])),
      },
    };
  }
  const course = courseOf(outcome, canRequest);
  if (course === 'fail') return undivided(outcome);
  if (course === 'divide') return { kind: 'divide', split: outcome };
  const { doubts, isConfirmation } = spooled;
  const metrics = [...(outcome.shortfall?.differences.keys() ?? [])];
  const whole = canRequest ? windowOf(window.slice, window.fingerprint, window.periods) : window;
  const pending = { window: whole, doubts, isConfirmation, round: null, answers: new Map() };
  return { kind: 'not additive', metrics, spooled, pending };
}

/** Returns the last step: `completeness: warn` loads a window that fell short. */
export function undivided({
  window,
  failure,
  shortfall,
  spooled,
}: Split): Extract<NextStep, { kind: 'fail' | 'accept' }> {
  if (shortfall === null || window.slice.completeness !== 'warn') return { kind: 'fail', failure };
  const answers = new Map(spooled.answers.map((answer) => [boxId(answer.box), answer]));
  return { kind: 'accept', pending: { ...spooled, answers, isIndivisible: true } };
}

/**
 * Decides what to do with a window that fell short or is too large. If only assumed metrics disagree, and smaller requests
 * return no more rows, the rows are complete and the assumption was wrong.
 */
function courseOf(
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
  const total = totalOf(rows);
  const isShown = round.halves.every((half) => (rows.get(half) ?? 0) > 0);
  const hasGrown = round.hasGrown || total > round.rows;
  if (isAssumed && isShown && !hasGrown) return 'not additive';
  // The sum of a metric that does not add up comes nearer only by chance.
  const isNearer =
    !isAssumed &&
    [...round.differences].some(([metric, away]) => (differences.get(metric) ?? 0) < away);
  return isCut || isNearer || total > round.rows ? 'divide' : 'fail';
}

/** Returns the round that begins when a window that fell short is divided by values. */
export function roundAfter(
  shortfall: Shortfall | null,
  before: Round | null,
  from: Window,
  into: Window,
): Round | null {
  if (shortfall === null) return null;
  const rows = totalOf(shortfall.rows);
  const parts = new Set(from.parts.map(partId));
  return {
    rows,
    differences: shortfall.differences,
    hasGrown: before !== null && (before.hasGrown || rows > before.rows),
    halves: into.parts.map(partId).filter((id) => !parts.has(id)),
  };
}

const totalOf = (rows: Shortfall['rows']): number =>
  [...rows.values()].reduce((sum, part) => sum + part, 0);
