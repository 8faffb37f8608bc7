/** Stages the rows of answered windows and counts them: the facts that each window is decided by. */

import * as z from 'zod';

import type { Day } from '../model/calendar.ts';
import { isOfCounts } from '../model/column-type.ts';
import { sumOf } from '../model/measure.ts';
import { isCertain } from '../model/metric.ts';
import { additiveOf } from '../warehouse/tables/target.ts';
import { asScript, count, dayShape } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import {
  type AnswerFacts,
  type Answered,
  isBatched,
  type MetricSum,
  type PeriodSum,
  type Readable,
  type ReadableAnswer,
  sharedMetric,
} from './answered.ts';
import {
  countAnswers,
  countJoined,
  lostValues,
  sumDistinctPeriods,
  totalAnswers,
} from './facts-sql.ts';
import { type Staged, stageRows } from './staged-sql.ts';
import { misplaced, readRejects, repeatedKeys, strayWeeks } from './window-checks.ts';

const countedRow = z.object({
  batch_no: z.number(),
  window_no: z.number(),
  answer_no: z.number(),
  /** Null: all periods together. */
  start_day: dayShape.nullable(),
  rows: count,
  values: count,
  sums: z.array(z.string().nullable()),
  magnitudes: z.array(z.number().nullable()),
  non_zero: z.array(count.nullable()),
});
type Counted = z.infer<typeof countedRow>;

const joinedRow = countedRow.omit({
  batch_no: true,
  answer_no: true,
  magnitudes: true,
  non_zero: true,
});
const distinctRow = countedRow.pick({ window_no: true, answer_no: true, sums: true }).extend({
  start_day: dayShape,
});
const lostRow = z.object({ start_day: dayShape, value: z.string().nullable() });

export async function readAnswered(
  batches: readonly Staged[],
  warehouse: Warehouse,
): Promise<Answered[][]> {
  const script = asScript([
    ...batches.flatMap((staged) => [stageRows(staged), totalAnswers(staged)]),
    batches.map(countAnswers).join('\nunion all\n'),
  ]);
  const counted = await warehouse.rows(script, [], countedRow);
  const answered: Answered[][] = [];
  for (const [batchNo, staged] of batches.entries()) {
    const rows = counted.filter((row) => row.batch_no === batchNo);
    answered.push(await answeredIn(staged, rows, warehouse));
  }
  return answered;
}

async function answeredIn(
  staged: Staged,
  counted: readonly Counted[],
  warehouse: Warehouse,
): Promise<Answered[]> {
  const rejects = await readRejects(warehouse, staged);
  const repeated = await repeatedKeys(warehouse, staged);
  const weeks = await strayWeeks(warehouse, staged);
  const copied = [...repeated].flatMap(([windowNo, { copies }]) =>
    copies.some((surplus) => surplus > 0) ? [windowNo] : [],
  );
  const distinct =
    copied.length === 0
      ? []
      : await warehouse.rows(sumDistinctPeriods(staged, copied), [], distinctRow);
  const joinedNos = staged.windows.flatMap((window) =>
    isBatched(window) || copied.includes(window.windowNo) ? [window.windowNo] : [],
  );
  const metrics = additiveOf(staged.columns);
  const batched = staged.windows.find(isBatched);
  const shared = metrics.find(({ id }) => batched !== undefined && id === sharedMetric(batched));
  const joined =
    joinedNos.length === 0
      ? []
      : await warehouse.rows(countJoined(staged, joinedNos, shared), [], joinedRow);
  const factsOf = (
    { windowNo }: Readable,
    answer: ReadableAnswer,
    answerNo: number,
  ): AnswerFacts => {
    const isHere = (row: Pick<Counted, 'window_no' | 'answer_no'>) =>
      row.window_no === windowNo && row.answer_no === answerNo;
    const rows = counted.filter(isHere);
    const total = rows.find((row) => row.start_day === null);
    const distinctRows = new Map(
      distinct.filter(isHere).map((row) => [row.start_day, row.sums] as const),
    );
    const hasCopies = copied.includes(windowNo) && answer.box.control === null;
    const sums = metrics.flatMap((metric, at): MetricSum[] => {
      const { id } = metric;
      const isRejected = answer.box.control === null && rejects.get(windowNo)?.metrics.has(id);
      if (!answer.box.metrics.includes(id) || isRejected === true) return [];
      // Whole numbers stay exact up to 2^53, as far as the service's own totals are.
      const texts = [...distinctRows.values()].flatMap((texts) => texts[at] ?? []);
      const distinctSum = String(sumOf(texts.map(Number)));
      const sum = total?.sums[at] ?? null;
      return [
        {
          metric: id,
          sum,
          distinctSum: !hasCopies ? sum : texts.length === 0 ? null : distinctSum,
          magnitude: total?.magnitudes[at] ?? 0,
          nonZero: total?.non_zero[at] ?? 0,
          precision: answer.pages.map(({ body: { rows, digits } }) => {
            return { rows, digits: digits.get(id) ?? 0 };
          }),
          isCount: isOfCounts(metric.type) || metric.isCount,
          isAssumed: !isCertain(metric),
        },
      ];
    });
    const periodSums = new Map<Day, ReadonlyMap<string, PeriodSum>>();
    for (const { start_day: start, sums: texts } of rows) {
      if (start === null) continue;
      const ofMetrics = new Map<string, PeriodSum>();
      for (const [at, { id }] of metrics.entries()) {
        const sum = texts[at] ?? null;
        const distinctSum = hasCopies ? (distinctRows.get(start)?.[at] ?? null) : sum;
        if (answer.box.metrics.includes(id)) ofMetrics.set(id, { sum, distinctSum });
      }
      periodSums.set(start, ofMetrics);
    }
    return { ...answer, sums, periodSums, lost: [] };
  };
  const answered: Answered[] = [];
  for (const window of staged.windows) {
    const { windowNo, spooled } = window;
    const rejected = rejects.get(windowNo) ?? null;
    const keys = repeated.get(windowNo);
    const ofAnswers = counted.filter((row) => row.answer_no < window.answers.length);
    const countsOf = (
      rows: readonly z.infer<typeof joinedRow>[],
      kind: 'rows' | 'values',
    ): ReadonlyMap<Day, number> => {
      const counts = new Map<Day, number>();
      for (const { window_no, start_day: start, rows: ofPeriod, [kind]: more } of rows)
        if (window_no === windowNo && start !== null && ofPeriod > 0)
          counts.set(start, (counts.get(start) ?? 0) + more);
      return counts;
    };
    const periodRows = countsOf(isBatched(window) ? joined : ofAnswers, 'rows');
    const controls: AnswerFacts[] = [];
    for (const [at, control] of window.controls.entries()) {
      const facts = factsOf(window, control, window.answers.length + at);
      const isList = control.box.control?.length !== 1;
      const isRead = control.pages.length > 0 && control.failure === null;
      const lost =
        isList && isRead
          ? await warehouse.rows(lostValues(staged, window, control), [], lostRow)
          : [];
      controls.push({
        ...facts,
        // A value that no column holds is in no sum.
        sums: control.pages.some(({ hasRejected }) => hasRejected) || !isRead ? [] : facts.sums,
        lost: lost.map(({ start_day: start, value }) => ({ start, value })),
      });
    }
    answered.push({
      ...window,
      answers: window.answers.map((answer, answerNo) => factsOf(window, answer, answerNo)),
      controls,
      failure:
        rejected?.failure ??
        misplaced(spooled.window, periodRows, weeks.get(windowNo)) ??
        keys?.failure ??
        null,
      conflicts: keys?.conflicts ?? [],
      rejects: rejected,
      copies: keys?.copies ?? [],
      spread: keys?.spread ?? new Set(),
      periodRows,
      periodValues: countsOf(joinedNos.includes(windowNo) ? joined : ofAnswers, 'values'),
      sharedSums: new Map(
        joined.flatMap(({ window_no, start_day: start, sums: [sum] }) =>
          window_no === windowNo && start !== null ? [[start, Number(sum ?? 0)] as const] : [],
        ),
      ),
    });
  }
  return answered;
}
