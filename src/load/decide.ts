/**
 * Decides what becomes of an answered window: the one place where proof, guard and fate meet. Pure.
 *
 * Strict about rows: a count that is documented to add up must agree exactly. Fair about arithmetic: money may differ by what
 * its stated digits allow, and a metric that is only assumed to add up is no evidence against the others. An answer that is
 * doubted is requested again by itself; what stays doubted holds the window, which is loaded wholly or not at all.
 */

import { Failure, isPassing } from '../errors.ts';
import type { Day } from '../model/calendar.ts';
import type { CompletenessVerdict } from '../model/ledger.ts';
import { boxId, partId, subjectOf, type Window, windowOf } from '../model/window.ts';
import { type LoadWarning, pageWarnings } from './answer-pages.ts';
import { compareAnswers } from './agreement.ts';
import type { Answered } from './answered.ts';
import type { NightTotals } from './night-totals.ts';
import { emptyStretches, lossFailure, sharesOf, type StoredPeriod } from './fate.ts';
import type { Again, Failed, Outcome, Split } from './outcome.ts';
import {
  type AnswerProof,
  clauseOf,
  type Comparison,
  isShort,
  lacksRows,
  proveAnswer,
} from './proof.ts';
import { isWithin } from './window-checks.ts';
import { MAX_DOUBTS } from '../extract/spool.ts';

/** Some neighbouring periods of a window that are to be replaced, and what is recorded of them. */
export interface Replacement {
  readonly kind: 'replace';
  readonly answered: Answered;
  /** Only these periods. */
  readonly window: Window;
  readonly verdict: CompletenessVerdict;
  readonly comparisons: readonly Comparison[];
  /** Metrics only assumed to add up that do not, and that do. */
  readonly notAdditive: readonly string[];
  readonly addsUp: readonly string[];
  /** Rejected rows: their days, and what is recorded of them. */
  readonly rejects: Pick<NonNullable<Answered['rejects']>, 'recorded' | 'days'>;
  readonly stored: ReadonlyMap<Day, StoredPeriod>;
  readonly totals: NightTotals;
  readonly warnings: readonly LoadWarning[];
  /** Stretches of periods without rows. */
  readonly empty: readonly string[];
}

/** What a load may accept, and what it would replace. */
export interface Policy {
  readonly completeness: 'require' | 'warn';
  /** Whether settled periods may lose most of their rows. */
  readonly acceptLoss: boolean;
  readonly stored: ReadonlyMap<Day, StoredPeriod>;
  /** What the service states of the periods tonight. */
  readonly totals: NightTotals;
}

type Proven = Pick<Replacement, 'verdict' | 'comparisons' | 'notAdditive' | 'addsUp' | 'warnings'>;

/** Returns what to replace, to request again, to split, or to fail; together every period of the window but those stored later. */
export function decide(answered: Answered, how: Policy): (Replacement | Outcome)[] {
  const { window } = answered.spooled;
  if (answered.failure !== null) return [{ kind: 'failed', window, failure: answered.failure }];
  const proven = prove(answered, how);
  return 'kind' in proven ? [proven] : guard(answered, proven, how);
}

/** The verdict on a window's completeness, or what to do instead of loading it. */
function prove(
  answered: Answered,
  { completeness, totals }: Policy,
): Proven | Again | Split | Failed {
  const { answers, spooled } = answered;
  const { window, doubts, controlFailure } = spooled;
  const proofs = answers.map(proveAnswer);
  const short = proofs.filter(isShort);
  const unfollowed = answers.find((answer) => answer.unfollowed !== null)?.unfollowed ?? null;
  const { disagreements, isTolerant, unverified, different } = compareAnswers(
    answered,
    proofs,
    totals,
  );
  const [first] = disagreements;
  const control = window.parts.length > 1 ? controlClause(answered) : null;
  const because =
    unfollowed ??
    (short[0] === undefined ? null : clauseOf(short[0])) ??
    first?.clause ??
    control ??
    null;
  if (because === null) {
    if (different !== null && window.isCompared !== true && doubts < MAX_DOUBTS) {
      const failure = new Failure('DATA_INCOMPLETE', `${subjectOf(window)}: ${different}.`);
      return again(answered, { ...window, isCompared: true }, failure, null);
    }
    const proven = loadable(answered, proofs, unverified);
    if (different !== null) {
      const shown =
        proven.verdict === 'proven'
          ? 'as their own totals show'
          : 'although no total of their own shows that they are complete';
      const message = `The rows do not add up to the control totals${window.isCompared === true ? ', in two answers' : ''}: ${different}. They were loaded ${shown}; control totals of the slice are not compared with rows for 7 days.`;
      proven.warnings.push({ code: 'CONTROL_DIFFERS', message });
    }
    const isLess = isTolerant && proven.verdict === 'proven';
    return isLess ? { ...proven, verdict: 'unverifiable' } : proven;
  }
  const message = `${subjectOf(window)}: ${because}.`;
  const failure = new Failure('DATA_INCOMPLETE', message, { hint: UNPROVEN_HINT });
  const isLast = completeness === 'warn' && spooled.isIndivisible === true;
  if (doubts < MAX_DOUBTS && unfollowed === null && !isLast) {
    // A division shows by itself whether smaller requests bring more rows.
    const isRepeatable = answers.length > 1 && doubts === 0 && spooled.round === null;
    const suspects = [
      ...(isRepeatable ? short.map(({ answer }) => answer.box) : []),
      ...disagreements.flatMap((each) => (doubts === 0 ? each.suspects : each.boxes)),
    ];
    if (suspects.length > 0) return again(answered, window, failure, new Set(suspects.map(boxId)));
  }
  // Learned parts may be empty by now. Only the undivided window can show that.
  if (doubts === MAX_DOUBTS && disagreements.some(({ needsWhole }) => needsWhole)) {
    const undivided = windowOf(window.slice, window.fingerprint, window.periods);
    return again(answered, undivided, failure, null);
  }
  // Fewer rows than the totals count may be all that one request brings.
  const isDivisible = unfollowed === null && !isLast && short.some(lacksRows);
  if (completeness === 'warn' && !isDivisible) {
    const text = `The answer was loaded although it was not shown to be complete: ${because}.`;
    return {
      verdict: 'unproven',
      comparisons: proofs.flatMap((proof) => proof.comparisons),
      notAdditive: [],
      addsUp: [],
      warnings: [{ code: 'UNPROVEN', message: text }],
    };
  }
  if (unfollowed !== null) {
    const endless = new Failure('SOURCE_ENDLESS_PAGES', message, { hint: PAGES_HINT });
    return { kind: 'failed', window, failure: endless };
  }
  if (short.length > 0) return divisible(answered, proofs, failure);
  if (first === undefined && controlFailure !== null) {
    const { code, facts } = controlFailure;
    const hint = isPassing(controlFailure) ? (controlFailure.hint ?? PARTS_HINT) : PARTS_HINT;
    return {
      kind: 'failed',
      window,
      failure: new Failure(code, message, { facts, hint, cause: controlFailure }),
    };
  }
  const hint = window.parts.length > 1 ? PARTS_HINT : BATCHES_HINT;
  return { kind: 'failed', window, failure: new Failure('DATA_INCOMPLETE', message, { hint }) };
}

const again = (
  { spooled }: Answered,
  window: Window,
  failure: Failure,
  boxes: ReadonlySet<string> | null,
): Again => ({
  kind: 'again',
  window,
  spooled,
  failure,
  boxes,
  isConfirmation: spooled.isConfirmation,
});

/** Why the totals of the undivided window cannot be used, as a clause. */
function controlClause({ controls, spooled: { controlFailure } }: Answered): string | null {
  const bad = controls.find(({ failure, unfollowed }) => failure !== null || unfollowed !== null);
  const words = controlFailure?.message ?? bad?.failure?.message ?? bad?.unfollowed;
  return words === undefined || words === null
    ? null
    : `its parts could not be compared with the whole: ${words.replace(/\.$/, '')}`;
}

/** The verdict on a window that nothing speaks against, with its warnings. */
function loadable(
  { rejects }: Answered,
  proofs: readonly AnswerProof[],
  unverified: string | null,
): Proven & { readonly warnings: LoadWarning[] } {
  const warnings: LoadWarning[] = [];
  const shown = { comparisons: [], notAdditive: [], addsUp: [] };
  const rounded = proofs.find((proof) => proof.rounded !== null)?.rounded ?? null;
  if (rejects === null && rounded !== null) {
    const message = `The rows' ${rounded.metric} added up to ${rounded.sum}, the service's total was ${rounded.total}: either one of them is rounded, or rows that add up to the difference are missing; no other total shows which.`;
    warnings.push({ code: 'TOTALS_ROUNDED', message });
  }
  if (unverified !== null) {
    const message = `The rows were requested in parts, and it could not be verified that the parts contain every row: ${unverified}.`;
    warnings.push({ code: 'PARTS_NOT_PROVEN', message });
  }
  // Rejected rows may hold all values of a metric: only a disagreement would show anything.
  if (rejects !== null) return { ...shown, verdict: 'unverifiable', warnings };
  const comparisons = proofs.flatMap((proof) => proof.comparisons);
  const isSilent = proofs.some(
    ({ verdict, answer }) => verdict === 'unverifiable' && answer.rows > 0,
  );
  const isProven = !isSilent && comparisons.length > 0 && unverified === null;
  return {
    verdict: isProven ? 'proven' : 'unverifiable',
    comparisons,
    notAdditive: proofs.flatMap((proof) => proof.notAdditive),
    addsUp: proofs.flatMap((proof) => proof.addsUp),
    warnings,
  };
}

/** The result for a window with parts that fell short and are to be divided. */
function divisible({ spooled }: Answered, proofs: readonly AnswerProof[], failure: Failure): Split {
  const differences = new Map<string, number>();
  const [parts, rows] = [new Set<string>(), new Map<string, number>()];
  for (const proof of proofs) {
    const id = partId(proof.answer.box.part);
    rows.set(id, (rows.get(id) ?? 0) + proof.answer.rows);
    if (!isShort(proof)) continue;
    parts.add(id);
    for (const { metric, sum, total } of proof.comparisons.filter(({ agrees }) => !agrees)) {
      const difference = Math.abs(Number(sum) - Number(total));
      differences.set(metric, (differences.get(metric) ?? 0) + difference);
    }
  }
  const against = proofs.filter(isShort).map((proof) => proof.against);
  const isCut = against.includes(null);
  const isAssumed = against.every((comparison) => comparison?.isAssumed === true);
  return {
    kind: 'split',
    window: spooled.window,
    spooled,
    failure,
    parts,
    shortfall: { rows, differences, isCut, isAssumed },
    values: new Map(),
  };
}

/** Replaces the periods whose answer is accepted. The others are requested again or stay as they are. */
function guard(
  answered: Answered,
  proven: Proven,
  { acceptLoss, stored, totals }: Policy,
): (Replacement | Outcome)[] {
  const { spooled, fetchedAt, rejects } = answered;
  const judging = {
    answered: answeredRows(answered),
    stored,
    fetchedAt,
    acceptLoss,
    isConfirmation: spooled.isConfirmation,
    totals,
    isProven: proven.verdict === 'proven',
  };
  const shares = sharesOf(spooled.window, judging);
  const first = shares.find(({ fate }) => fate === 'load');
  // Holes are requested together, periods that lose rows each by themselves.
  const holes = shares.filter(
    ({ fate, window }) =>
      fate === 'doubt' &&
      window.periods.every(({ period }) => (stored.get(period.bucket.start)?.rows ?? 0) === 0),
  );
  return shares.flatMap((share): (Replacement | Outcome)[] => {
    const { fate, window } = share;
    if (fate === 'keep') return [];
    if (fate === 'load') {
      const empty = emptyStretches(window, judging.answered);
      // Rows of unknown day count in every share. The first share records all rejected rows, and has the warnings.
      const days = (rejects?.days ?? []).filter(
        (day) => day === null || window === spooled.window || isWithin(day, window.replaced),
      );
      const recorded = share === first ? (rejects?.recorded ?? []) : [];
      const warnings = [
        ...(share === first ? warningsOf(answered, proven) : []),
        ...emptyWarning(empty),
      ];
      return [
        {
          kind: 'replace',
          ...proven,
          answered,
          window,
          stored,
          totals,
          empty,
          rejects: { days, recorded },
          warnings,
        },
      ];
    }
    const failure = lossFailure(window, judging);
    if (fate === 'refuse') return [{ kind: 'failed', window, failure }];
    const together = holes.includes(share) ? holes : [share];
    const last = together.at(-1) ?? share;
    if (share !== together[0]) return [];
    const span = spooled.window.periods.filter(
      ({ period: { bucket } }) =>
        window.replaced.start <= bucket.start && bucket.end <= last.window.replaced.end,
    );
    const others =
      last === share ? window : windowOf(window.slice, window.fingerprint, span, window.parts);
    return [{ kind: 'again', window: others, spooled, failure, boxes: null, isConfirmation: true }];
  });
}

/** Rows, in a cube values, by first day of the period. Rejected rows count: a period that has only such rows is not empty. */
function answeredRows(answered: Answered): ReadonlyMap<Day, number> {
  const { periodRows, periodValues, rejects, spooled } = answered;
  // 1 if a cube has only zeros there.
  const rows = new Map(
    [...periodRows].map(([start, count]) => [
      start,
      Math.max(periodValues.get(start) ?? 0, Math.min(count, 1)),
    ]),
  );
  for (const day of rejects?.days ?? []) {
    const start = spooled.window.periods.find(
      ({ period }) => day !== null && isWithin(day, period.bucket),
    )?.period.bucket.start;
    if (start !== undefined) rows.set(start, (rows.get(start) ?? 0) + 1);
  }
  return rows;
}

function emptyWarning(stretches: readonly string[]): LoadWarning[] {
  if (stretches.length === 0) return [];
  const message = `The service had no rows for ${stretches.join(', ')}; loaded as empty, which becomes final once two runs after the end of a period agree.`;
  return [{ code: 'EMPTY_PERIODS', message }];
}

/** The warnings about a window as a whole. */
function warningsOf(
  { spooled, answers, maturity, copies, rejects }: Answered,
  proven: Proven,
): LoadWarning[] {
  const warnings = [...pageWarnings(spooled.window, answers, maturity), ...proven.warnings];
  const surplus = Math.max(0, ...copies);
  const rejected = rejects?.days.length ?? 0;
  if (surplus > 0) {
    const message = `${surplus} identical rows came more than once; one of each was kept.`;
    warnings.push({ code: 'DUPLICATE_ROWS', message });
  }
  if (rejected > 0) {
    const message = `${rejected} rows could not be stored exactly; see ripen.rejected_rows.`;
    warnings.push({ code: 'REJECTED_ROWS', message });
  }
  for (const metric of new Set(proven.notAdditive)) {
    const message = `The rows' ${metric} did not add up to the service's total while other metrics did: it is not additive here, and no longer summed.`;
    warnings.push({ code: 'NOT_ADDITIVE', message });
  }
  return warnings;
}

const PAGES_HINT =
  'Report it to the service. Until it is fixed, request less, so that the report fits one page, or load what comes with `completeness: warn`.';
const UNPROVEN_HINT =
  'Run again later; where it stays so, `additive: { name: false }` says which metric does not add up, and `completeness: warn` loads all the same.';
const PARTS_HINT =
  'Give the slice fewer dimensions or metrics, or filter it, so that one period needs no parts; a metric that adds up, such as installs, lets parts be verified by their sums alone. `completeness: warn` loads all the same.';
const BATCHES_HINT =
  'Run again later. If it persists, request fewer metrics, so that one request has all of them, or set `completeness: warn`, which loads the rows as they came.';
