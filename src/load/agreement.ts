/** Compares the batches of metrics of a part, the parts of a divided window, and the totals of the undivided one. Pure. */

import { type Day, isWithin } from '../model/calendar.ts';
import { countText, groupedText, namesText, sumOf } from '../model/measure.ts';
import { endOf, isWhole, SETTLED_AFTER_MS } from '../model/period.ts';
import {
  type Box,
  boxId,
  controlBoxesOf,
  isDivided,
  isFiltered,
  partId,
  wholeOf,
} from '../model/window.ts';
import { MAX_DOUBTS } from '../extract/spool.ts';
import {
  type Answered,
  type AnswerFacts,
  isBatched,
  type NightTotals,
  type Policy,
  sharedMetric,
} from './answered.ts';
import {
  type AnswerProof,
  clauseOf,
  halfUnit,
  MIN_DIGITS,
  proveAnswer,
  SUM_ROUNDOFF,
} from './proof.ts';

interface Disagreement {
  /** Ends a sentence about the window. */
  readonly clause: string;
  /** The boxes whose answers are doubted, and all that take part. */
  readonly suspects: readonly Box[];
  readonly boxes: readonly Box[];
  /** Number of repeated requests (default: never). */
  readonly acceptedAfter?: number;
  readonly needsWhole?: boolean;
}

/**
 * Returns the disagreements that are not accepted, and whether one was; what of the parts cannot be verified; how an undivided
 * window differs from control totals, which its own totals outweigh; and the metrics that differ from what the night states.
 */
export function compareAnswers(
  answered: Answered,
  proofs: readonly AnswerProof[],
  { totals, stated }: Pick<Policy, 'totals' | 'stated'>,
) {
  const { spooled, controls } = answered;
  const { window, doubts } = spooled;
  const isOne = window.parts.length === 1;
  const own =
    window.compared === undefined ? [] : controls.filter(({ failure }) => failure === null);
  // Without totals of its own, as of a refused request, an answer that is compared again has those of the night.
  const latest = own.length > 0 ? own.map(totalsIn) : [totals];
  const [first] = isOne ? latest.flatMap((each) => differencesFrom(each, answered, proofs)) : [];
  const different =
    first === undefined
      ? null
      : `its ${first.metric} in the period of ${first.start} added up to ${first.sum}, the control total is ${first.total}`;
  const differing = new Map<Day, string[]>();
  for (const { start, metric } of differencesFrom(stated, answered, proofs))
    differing.set(start, [...(differing.get(start) ?? []), metric]);
  const ofParts = betweenParts(answered);
  const ofWhole = isOne ? [] : withControl(answered, proofs);
  const all = [...betweenBatches(answered), ...ofParts, ...ofWhole];
  const isAccepted = (of: Disagreement) => doubts >= (of.acceptedAfter ?? Infinity);
  const disagreements = all.filter((each) => !isAccepted(each));
  const isTolerant = disagreements.length < all.length;
  // Why rows may be in none of the parts.
  let unverified = ofParts.find(isAccepted)?.clause ?? null;
  if (unverified === null && isFiltered(window)) {
    if (!isOne && window.parts.some((part) => isDivided(window, part)))
      unverified = 'a filter of a metric applies to grouped rows, so that no total can show it';
  } else if (unverified === null && !isOne && controls.length > 0) {
    const ids = new Set(controls.map(({ box }) => boxId(box)));
    const missing = controlBoxesOf(window).find((box) => !ids.has(boxId(box)));
    if (missing !== undefined)
      unverified = `the service did not list the values of ${missing.control?.at(-1) ?? 'its parts'}`;
  }
  return { disagreements, isTolerant, unverified, different, differing };
}

/** Whether the values of a period may still move between two requests. */
export function mayMove({ spooled: { window }, fetchedAt }: Answered, start: string): boolean {
  const { utcOffset, settleMs } = window.slice;
  const due = window.periods.find(({ period }) => period.bucket.start === start);
  return due !== undefined && +endOf(due.period, utcOffset) + settleMs > +fetchedAt;
}

const acceptedAfter = (answered: Answered, start: string) =>
  mayMove(answered, start) ? 1 : Infinity;

/** By more than the order of addition explains. */
const differ = (one: number, other: number) =>
  Math.abs(one - other) > SUM_ROUNDOFF * Math.max(Math.abs(one), Math.abs(other));

/** In a message. */
const MAX_NAMES = 3;

/** The batches of a part must all have rows, and the same sums of the metric they share, or else the same keys. */
function betweenBatches(answered: Answered) {
  const { answers, spooled, copies, periodRows, rejects, sharedSums } = answered;
  if (!isBatched(answered)) return [];
  const disagreements: Disagreement[] = [];
  const shared = sharedMetric(answered);
  /** By first day of the period: the sum of the shared metric over the parts. */
  const partSums = new Map<Day, number>();
  for (const partNo of spooled.window.parts.keys()) {
    const batches = answers.filter(({ box }) => box.partNo === partNo);
    const boxes = batches.map(({ box }) => box);
    const filled = batches.find(({ rows }) => rows > 0);
    const empty = batches.filter(({ rows }) => rows === 0);
    if (filled === undefined) continue;
    if (empty.length > 0) {
      const metrics = empty.flatMap(({ box }) => box.metrics.filter((id) => id !== shared));
      const names = namesText(metrics, MAX_NAMES);
      const clause = `the request for ${names} was answered without rows, that for the other metrics with ${countText(filled.rows, 'row')}`;
      disagreements.push({ clause, suspects: empty.map(({ box }) => box), boxes });
      continue;
    }
    if (shared === undefined) continue;
    const starts = new Set(batches.flatMap(({ periodSums }) => [...periodSums.keys()]));
    for (const start of starts) {
      const texts = batches.map(
        ({ periodSums }) => periodSums.get(start)?.get(shared)?.distinctSum ?? '0',
      );
      const sums = texts.map(Number);
      const most = sums.reduce((one, other) => (Math.abs(other) > Math.abs(one) ? other : one), 0);
      partSums.set(start, (partSums.get(start) ?? 0) + most);
      const suspects = boxes.filter((_, at) => differ(sums[at] ?? 0, most));
      if (suspects.length === 0) continue;
      const values = [...new Set(texts)].join(' and ');
      const clause = `the requests for its metrics had ${shared} of ${values} in the period of ${start}`;
      const after = acceptedAfter(answered, start);
      disagreements.push({ clause, suspects, boxes, acceptedAfter: after });
    }
  }
  const boxes = answers.map(({ box }) => box);
  if (shared !== undefined) {
    // It counts in every row of a key that comes in several forms.
    for (const [start, sum] of disagreements.length === 0 ? sharedSums : []) {
      const once = partSums.get(start) ?? 0;
      const lacksRejected = rejects !== null && Math.abs(sum) < Math.abs(once);
      if (!differ(sum, once) || lacksRejected) continue;
      const clause = `the requests for its metrics did not have the same attr_dependency: joined, their rows had ${shared} of ${sum} instead of ${once} in the period of ${start}`;
      const after = acceptedAfter(answered, start);
      disagreements.push({ clause, suspects: boxes, boxes, acceptedAfter: after });
    }
    return disagreements;
  }
  const keys = sumOf(periodRows.values());
  for (const batchNo of new Set(boxes.map((box) => box.batchNo))) {
    const batch = answers.filter(({ box }) => box.batchNo === batchNo);
    const rows = sumOf(batch.map((answer) => answer.rows)) - (copies[batchNo] ?? 0);
    if (rows === keys || (rows > keys && rejects !== null)) continue;
    const names = namesText(batch[0]?.box.metrics ?? [], MAX_NAMES);
    const clause = `the request for ${names} was answered with ${countText(rows, 'row')}, all requests together with ${groupedText(keys)}`;
    const after = [...periodRows.keys()].map((start) => acceptedAfter(answered, start));
    const suspects = batch.map(({ box }) => box);
    disagreements.push({ clause, suspects, boxes, acceptedAfter: Math.max(1, ...after) });
  }
  return disagreements;
}

/**
 * A part without rows beside others is doubted unless its whole has sums, or a complete list of values. A list without totals
 * is a second answer. If a part is its own whole, only its repeated answer can show that it is empty. Identical rows may make it
 * seem short, which holds only a window with such a part.
 */
function betweenParts({ answers, controls, spooled: { window } }: Answered) {
  const controlBoxes = controlBoxesOf(window);
  const summed = new Set(
    controlBoxes.flatMap(({ part, control }) => (control?.length === 1 ? [partId(part)] : [])),
  );
  const hasSums = ({ box }: AnswerFacts) => summed.has(partId(wholeOf(window, box.part)));
  const lists = controls.filter((control) => !hasSums(control)).map(proveAnswer);
  const cut = lists.find(({ against }) => against !== null);
  const disagreements: Disagreement[] = [];
  const doubt = (clause: string, boxes: readonly Box[], acceptedAfter: number): void =>
    void disagreements.push({ clause, suspects: boxes, boxes, acceptedAfter });
  if (cut !== undefined) {
    const { box } = cut.answer;
    doubt(`the list of ${box.control?.[1] ?? ''} was not complete: ${clauseOf(cut)}`, [box], 1);
  }
  const filled = new Set(answers.flatMap(({ box, rows }) => (rows > 0 ? [box.partNo] : [])));
  if (filled.size === 0) return disagreements;
  const empty = answers
    .filter((answer) => !filled.has(answer.box.partNo) && !hasSums(answer))
    .map(({ box }) => box);
  const clause = `one of its ${window.parts.length} parts was answered without rows, the others with some`;
  const divided = empty.filter(({ part }) => isDivided(window, part));
  const undivided = empty.filter(({ part }) => !isDivided(window, part));
  if (undivided.length > 0) doubt(clause, undivided, MAX_DOUBTS);
  const isShown = lists.length > 0 && lists.every(({ verdict }) => verdict === 'proven');
  if (divided.length > 0 && !isShown) {
    const isConfirmed = controlBoxes.length > 0 && cut === undefined;
    disagreements.push({
      clause,
      suspects: [...divided, ...controls.map(({ box }) => box)],
      boxes: [...answers, ...controls].map(({ box }) => box),
      acceptedAfter: isConfirmed ? MAX_DOUBTS + 1 : Infinity,
      needsWhole: true,
    });
  }
  return disagreements;
}

/** The parts of a whole must add up to its totals by period, and have all its values. */
function withControl(answered: Answered, proofs: readonly AnswerProof[]) {
  const { controls, periodRows, rejects, spooled } = answered;
  const { window } = spooled;
  const disagreements: Disagreement[] = [];
  for (const control of controls) {
    const { part, metrics, control: dimensions } = control.box;
    const parts = proofs.filter(
      ({ answer: { box } }) => partId(wholeOf(window, box.part)) === partId(part),
    );
    const answers = parts.map(({ answer }) => answer);
    const empty = answers.filter(({ rows }) => rows === 0).map(({ box }) => box);
    const boxes = [...answers, ...controls].map(({ box }) => box);
    if (control.rows === 0 && empty.length < answers.length) {
      const clause = 'its parts have rows, and the whole was answered without any';
      disagreements.push({ clause, suspects: [control.box], boxes });
    }
    const disagree = (clause: string, start: string) => {
      const suspects = empty.length > 0 ? empty : boxes;
      const after = acceptedAfter(answered, start);
      disagreements.push({ clause, suspects, boxes, acceptedAfter: after });
    };
    const isSummed = dimensions?.length === 1 && control.periodSums.size > 0;
    const starts = [...answers, control].flatMap(({ periodSums }) => Array.from(periodSums.keys()));
    for (const start of isSummed ? new Set(starts) : []) {
      if (!isWithin(start, window.replaced)) continue;
      const totals = control.periodSums.get(start);
      for (const metric of metrics) {
        // The values that no column holds are in no sum.
        if (rejects?.metrics.has(metric) === true) continue;
        const total = totals?.get(metric)?.sum ?? null;
        // A period without rows has no values; a value that is not stated is not zero.
        if (totals !== undefined && total === null) continue;
        const stated = Number(total ?? 0);
        const rows = periodRows.get(start) ?? 0;
        const sum = differentSum(metric, { start, total: stated, rows }, parts);
        if (sum === null) continue;
        const clause = `the ${metric} of its parts added up to ${sum}, the whole's total was ${stated}: a value may be in neither part,`;
        disagree(`${clause} in the period of ${start}`, start);
      }
    }
    for (const { start, value } of control.lost) {
      const clause = `the whole has rows whose ${dimensions?.[1] ?? ''} is ${value ?? 'NULL'}, and its parts have none`;
      disagree(clause, start);
    }
  }
  return disagreements;
}

function differentSum(
  metric: string,
  { start, total, rows }: { readonly start: Day; readonly total: number; readonly rows: number },
  parts: readonly AnswerProof[],
): number | null {
  // Each part counts once: its batches may share the metric.
  const counted = new Map(
    parts.flatMap((proof) => {
      const { box, sums } = proof.answer;
      const sum = sums.find((each) => each.metric === metric);
      return sum === undefined ? [] : [[box.partNo, { ...proof, sum }] as const];
    }),
  );
  // The totals count identical rows once or as often as they came.
  const ofParts = [...counted.values()].map(({ answer }) =>
    answer.periodSums.get(start)?.get(metric),
  );
  const added = (['distinctSum', 'sum'] as const).map((kind) =>
    sumOf(ofParts.map((part) => Number(part?.[kind] ?? 0))),
  );
  let tolerance = 0;
  const isCount = [...counted.values()].every(({ sum }) => sum.isCount);
  if (!isCount || !added.every(Number.isInteger)) {
    tolerance =
      halfUnit(MIN_DIGITS) + SUM_ROUNDOFF * Math.max(Math.abs(total), ...added.map(Math.abs));
    for (const { answer, comparisons, sum } of counted.values()) {
      // Its own rounding, and that of each row to the fewest digits of a page.
      const filled = sum.precision.filter((page) => page.rows > 0);
      const fewest = Math.min(...filled.map(({ digits }) => digits));
      const own = comparisons.find((each) => each.metric === metric);
      tolerance +=
        (own === undefined ? 0 : Math.abs(Number(own.sum) - Number(own.total))) +
        Math.min(rows, answer.rows) * halfUnit(Math.max(MIN_DIGITS, fewest));
    }
  }
  if (added.some((sum) => Math.abs(sum - total) <= tolerance)) return null;
  return added[0] ?? 0;
}

/** Only of settled periods, and metrics that certainly add up. */
function differencesFrom(
  totals: NightTotals,
  { answers, periodRows, rejects, fetchedAt, spooled }: Answered,
  proofs: readonly AnswerProof[],
) {
  const differences: { start: Day; metric: string; sum: number; total: number }[] = [];
  if (rejects !== null) return differences;
  const { slice, periods } = spooled.window;
  const certain = new Set(
    answers.flatMap(({ sums }) => sums.filter((sum) => !sum.isAssumed).map((sum) => sum.metric)),
  );
  for (const { period } of periods) {
    const { start } = period.bucket;
    const rows = periodRows.get(start);
    const isSettled = +fetchedAt - +endOf(period, slice.utcOffset) > SETTLED_AFTER_MS;
    // Whether an empty period is believed is decided with the stored rows.
    if (rows === undefined || !isWhole(period) || !isSettled) continue;
    for (const [metric, total] of totals.get(start) ?? []) {
      if (!certain.has(metric)) continue;
      const sum = differentSum(metric, { start, total, rows }, proofs);
      if (sum !== null) differences.push({ start, metric, sum, total });
    }
  }
  return differences;
}

const totalsIn = ({ periodSums }: AnswerFacts): NightTotals =>
  new Map(
    [...periodSums].map(([start, sums]) => {
      const stated = [...sums].filter(([, { sum }]) => sum !== null);
      return [start, new Map(stated.map(([metric, { sum }]) => [metric, Number(sum)]))];
    }),
  );
