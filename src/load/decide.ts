/**
 * Decides what becomes of an answered window: the one place where proof and guard meet. Pure. A doubted answer is requested again
 * by itself. What stays doubted holds the window, which is loaded wholly or not at all.
 */

import { Failure, type FailureCode, isPassing } from '../errors.ts';
import type { CompletenessVerdict } from '../model/ledger.ts';
import { sumOf } from '../model/measure.ts';
import {
  boxId,
  partId,
  splitByPeriods,
  subjectOf,
  type Window,
  windowOf,
} from '../model/window.ts';
import { MAX_DOUBTS } from '../extract/spool.ts';
import { compareAnswers, mayMove } from './agreement.ts';
import type { LoadWarning } from './answer-pages.ts';
import type {
  Again,
  Answered,
  Failed,
  Outcome,
  Policy,
  Proven,
  Replacement,
  Split,
} from './answered.ts';
import { guard } from './fate.ts';
import { type AnswerProof, clauseOf, isShort, lacksRows, proveAnswer } from './proof.ts';

export function decide(answered: Answered, policy: Policy): (Replacement | Outcome)[] {
  const { spooled, failure, conflicts } = answered;
  const { window, doubts, isConfirmation } = spooled;
  if (failure !== null) {
    // Between two pages, a value of a row on both may have moved.
    const isMoving =
      failure.code === 'DATA_DUPLICATE_KEY' && conflicts.every((start) => mayMove(answered, start));
    return isMoving && doubts === 0
      ? [{ kind: 'again', window, spooled, failure, boxes: null, isConfirmation }]
      : [{ kind: 'failed', window, failure }];
  }
  const proven = prove(answered, policy);
  return 'verdict' in proven ? guard(answered, proven, policy) : [...proven];
}

function prove(answered: Answered, policy: Policy): Proven | readonly (Again | Split | Failed)[] {
  const { answers, controls, spooled } = answered;
  const { window, doubts, controlFailure } = spooled;
  const { slice, fingerprint, periods, compared } = window;
  const proofs = answers.map(proveAnswer);
  const short = proofs.filter(isShort);
  const unfollowed = answers.find((answer) => answer.unfollowed !== null)?.unfollowed ?? null;
  const comparison = compareAnswers(answered, proofs, policy);
  const { disagreements, different, differing } = comparison;
  const isWarned = slice.completeness === 'warn';
  const isLast = isWarned && spooled.isIndivisible === true;
  // A row that moved from one page to the next came twice, and took the place of another.
  const moved = proofs.filter(
    ({ answer: { box }, comparisons }) =>
      doubts === 0 &&
      !isLast &&
      answered.spread.has(box.batchNo) &&
      (comparisons.length === 0 || comparisons.some(({ countsCopies }) => countsCopies)),
  );
  const isDivided = window.parts.length > 1;
  const again = (others: Window, failure: Failure, boxes: Again['boxes'] = null): Again => {
    const { isConfirmation } = spooled;
    return { kind: 'again', window: others, spooled, failure, boxes, isConfirmation };
  };
  // Why the totals of the undivided window cannot be used.
  const bad = controls.find((control) => control.failure !== null || control.unfollowed !== null);
  const words = controlFailure?.message ?? bad?.failure?.message ?? bad?.unfollowed ?? null;
  const clause =
    unfollowed ??
    (short[0] === undefined ? null : clauseOf(short[0])) ??
    disagreements[0]?.clause ??
    (moved.length === 0 ? null : 'identical rows came on different pages') ??
    (isDivided && words !== null
      ? `its parts could not be compared with the whole: ${words.replace(/\.$/, '')}`
      : null);
  if (clause === null) {
    const { periodRows } = answered;
    // Of an answer that was cut without a word, smaller ones bring more rows, or as many of fewer periods.
    const isCut =
      compared !== undefined &&
      periods.length > 1 &&
      (sumOf(periodRows.values()) >= sumOf(compared.values()) ||
        [...periodRows].some(([start, rows]) => rows > (compared.get(start) ?? 0)));
    if (different !== null && doubts < MAX_DOUBTS && (compared === undefined || isCut)) {
      const failure = new Failure('DATA_INCOMPLETE', `${subjectOf(window)}: ${different}.`);
      const halves = splitByPeriods(window) ?? [window];
      return halves.map((half) => again({ ...half, compared: periodRows }, failure));
    }
    const proven = { ...loadable(answered, proofs, comparison.unverified), differing };
    if (different !== null) {
      const shown =
        proven.verdict === 'proven'
          ? 'as their own totals show'
          : 'although no total of their own shows that they are complete';
      const message = `The rows do not add up to the control totals${compared === undefined ? '' : ', in two answers'}: ${different}. They were loaded ${shown}; control totals of the slice are not compared with rows for 7 days.`;
      proven.warnings.push({ code: 'CONTROL_DIFFERS', message });
    }
    const isLess = comparison.isTolerant && proven.verdict === 'proven';
    return isLess ? { ...proven, verdict: 'unverifiable' } : proven;
  }
  const message = `${subjectOf(window)}: ${clause}.`;
  const failure = new Failure('DATA_INCOMPLETE', message, { hint: UNPROVEN_HINT });
  if (doubts < MAX_DOUBTS && unfollowed === null && !isLast) {
    // A division shows by itself whether smaller requests bring more rows.
    const isRepeatable = answers.length > 1 && doubts === 0 && spooled.round === null;
    const suspects = [
      ...(isRepeatable ? short.map(({ answer }) => answer.box) : []),
      ...moved.map(({ answer }) => answer.box),
      ...disagreements.flatMap((each) => (doubts === 0 ? each.suspects : each.boxes)),
    ];
    if (suspects.length > 0) return [again(window, failure, new Set(suspects.map(boxId)))];
  }
  // Learned parts may be empty by now. Only the undivided window can show that.
  if (doubts === MAX_DOUBTS && disagreements.some(({ needsWhole }) => needsWhole === true))
    return [again(windowOf(slice, fingerprint, periods), failure)];
  // Fewer rows than the totals count may be all that one request brings.
  const isDivisible = unfollowed === null && !isLast && short.some(lacksRows);
  if (isWarned && !isDivisible) {
    const text = `The answer was loaded although it is not proven complete: ${clause}.`;
    return {
      verdict: 'unproven',
      comparisons: proofs.flatMap((proof) => proof.comparisons),
      notAdditive: [],
      addsUp: [],
      differing,
      warnings: [{ code: 'UNPROVEN', message: text }],
    };
  }
  const fail = (code: FailureCode, hint: string): [Failed] => {
    return [{ kind: 'failed', window, failure: new Failure(code, message, { hint }) }];
  };
  if (unfollowed !== null) return fail('SOURCE_ENDLESS_PAGES', PAGES_HINT);
  if (short.length > 0) return [divisible(answered, proofs, failure)];
  if (disagreements.length > 0 || controlFailure === null)
    return fail('DATA_INCOMPLETE', isDivided ? PARTS_HINT : BATCHES_HINT);
  const { code, hint } = controlFailure;
  return fail(code, (isPassing(controlFailure) ? hint : null) ?? PARTS_HINT);
}

function loadable(
  { rejects }: Answered,
  proofs: readonly AnswerProof[],
  unverified: string | null,
) {
  const warnings: LoadWarning[] = [];
  const rounded = proofs.find((proof) => proof.rounded !== null)?.rounded ?? null;
  if (rejects === null && rounded !== null) {
    const message = `${rounded.metric}: the rows sum to ${rounded.sum}, the service's total is ${rounded.total}. Either is rounded, or rows are missing; no other metric can tell.`;
    warnings.push({ code: 'TOTALS_ROUNDED', message });
  }
  if (unverified !== null) {
    const message = `The window was divided into parts, and ripen could not verify that no row is missing: ${unverified}.`;
    warnings.push({ code: 'PARTS_NOT_PROVEN', message });
  }
  // Rejected rows may hold all values of a metric: only a disagreement would show anything.
  const telling = rejects === null ? proofs : [];
  const comparisons = telling.flatMap((proof) => proof.comparisons);
  const isSilent = telling.some(
    ({ verdict, answer }) => verdict === 'unverifiable' && answer.rows > 0,
  );
  const isProven = !isSilent && comparisons.length > 0 && unverified === null;
  const verdict: CompletenessVerdict = isProven ? 'proven' : 'unverifiable';
  return {
    verdict,
    comparisons,
    notAdditive: telling.flatMap((proof) => proof.notAdditive),
    addsUp: telling.flatMap((proof) => proof.addsUp),
    warnings,
  };
}

function divisible({ spooled }: Answered, proofs: readonly AnswerProof[], failure: Failure): Split {
  const differences = new Map<string, number>();
  const [parts, rows] = [new Set<string>(), new Map<string, number>()];
  const against: AnswerProof['against'][] = [];
  for (const proof of proofs) {
    const id = partId(proof.answer.box.part);
    rows.set(id, (rows.get(id) ?? 0) + proof.answer.rows);
    if (!isShort(proof)) continue;
    parts.add(id);
    against.push(proof.against);
    for (const { metric, sum, total } of proof.comparisons.filter(({ agrees }) => !agrees)) {
      const difference = Math.abs(Number(sum) - Number(total));
      differences.set(metric, (differences.get(metric) ?? 0) + difference);
    }
  }
  const isCut = against.includes(null);
  const isAssumed = against.every((comparison) => comparison?.isAssumed === true);
  const shortfall = { rows, differences, isCut, isAssumed };
  const { window } = spooled;
  return { kind: 'split', window, spooled, failure, parts, shortfall, values: new Map() };
}

const PAGES_HINT =
  'Report it to the service. Until it is fixed, request less, so that the report fits one page, or load what comes with `completeness: warn`.';
const UNPROVEN_HINT =
  'Run again later. If it persists, set `additive: { name: false }` for the metric that does not add up, or `completeness: warn` to load anyway.';
const PARTS_HINT =
  'Give the slice fewer dimensions or metrics, or filter it, so that one period needs no parts; a metric that adds up, such as installs, lets parts be verified by their sums alone. `completeness: warn` loads all the same.';
const BATCHES_HINT =
  'Run again later. If it persists, request fewer metrics, so that one request has all of them, or set `completeness: warn`, which loads the rows as they came.';
