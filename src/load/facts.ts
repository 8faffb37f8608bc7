/** Stages the rows of answered windows and counts them: the facts that each window is decided by. */

import * as z from 'zod';

import type { Day } from '../model/calendar.ts';
import { isCertain, type Metric } from '../model/metric.ts';
import { additiveOf, type Columns } from '../warehouse/tables/target.ts';
import { asScript, count, dayShape, jsonOf } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import {
  type AnswerFacts,
  type Answered,
  type ControlFacts,
  isBatched,
  type MetricSum,
  type PeriodSums,
  type Readable,
  type ReadableAnswer,
} from './answered.ts';
import {
  countJoined,
  lostValues,
  sumAnswers,
  sumControl,
  sumDistinctPeriods,
  sumPeriods,
  totalAnswers,
} from './facts-sql.ts';
import { type Staged, stageRows } from './staged-sql.ts';
import { keyFailures, outsideDays, readRejects, strayWeek } from './window-checks.ts';

const sumRow = z.object({
  window_no: z.number(),
  answer_no: z.number(),
  sums: z.array(z.string().nullable()),
  magnitudes: z.array(z.number().nullable()),
  non_zero: z.array(count),
  periods: jsonOf(z.array(z.object({ start_day: dayShape, rows: z.number(), values: z.number() }))),
});
const joinedRow = z.object({
  window_no: z.number(),
  start_day: dayShape,
  rows: count,
  values: count,
});

/** Stages the rows of windows, runs every check on them, and fills `totals`. Returns the facts of each, in their order. */
export async function readAnswered(
  readable: readonly Readable[],
  staged: Staged & { readonly isCompared: boolean },
  warehouse: Warehouse,
): Promise<Answered[]> {
  const { columns } = staged;
  const [first] = readable;
  if (first === undefined) return [];
  const { slice, replaced } = first.spooled.window;
  const numbersOf = (is: (window: Readable) => boolean): number[] =>
    readable.filter(is).map(({ windowNo }) => windowNo);
  const stage = asScript([
    stageRows(staged),
    totalAnswers(columns, slice.grain, replaced.start),
    sumAnswers(columns),
  ]);
  const sums = await warehouse.rows(stage, [], sumRow);
  const batched = numbersOf(isBatched);
  const joined =
    batched.length === 0
      ? []
      : await warehouse.rows(
          countJoined(columns, batched, slice.grain, replaced.start),
          [],
          joinedRow,
        );
  const rejects = await readRejects(
    warehouse,
    readable.map(({ spooled }) => spooled.window),
    numbersOf(({ answers }) => answers.some(({ pages }) => pages.some((page) => page.hasRejected))),
  );
  const repeated = await keyFailures(warehouse, columns, readable);
  const copied = [...repeated].flatMap(([windowNo, { copies }]) =>
    copies.length > 0 ? [windowNo] : [],
  );
  const several = numbersOf(
    ({ answers, controls }) => staged.isCompared || answers.length + controls.length > 1,
  );
  const plainSums = await periodSums(
    warehouse,
    several.length === 0 ? null : sumPeriods(columns, several),
    columns,
    readable,
  );
  const distinctSums = await periodSums(
    warehouse,
    copied.length === 0 ? null : sumDistinctPeriods(columns, copied, slice.grain, replaced.start),
    columns,
    readable,
  );
  const answered: Answered[] = [];
  for (const { spooled, windowNo, ...window } of readable) {
    const rejected = rejects.get(windowNo) ?? null;
    const keys = repeated.get(windowNo);
    const counted = batched.includes(windowNo)
      ? joined.filter((row) => row.window_no === windowNo)
      : sums.filter((row) => row.window_no === windowNo).flatMap(({ periods }) => periods);
    const [periodRows, periodValues] = [new Map<Day, number>(), new Map<Day, number>()];
    for (const { start_day: day, rows, values } of counted) {
      // A report without a date dimension has one period; its key is the first day of its own window.
      const start = slice.grain === null ? spooled.window.replaced.start : day;
      periodRows.set(start, (periodRows.get(start) ?? 0) + rows);
      periodValues.set(start, (periodValues.get(start) ?? 0) + values);
    }
    const answers = window.answers.map((answer, answerNo): AnswerFacts => {
      const key = placeOf(windowNo, answerNo);
      const distinct = distinctSums.get(key);
      const total = sums.find((row) => row.window_no === windowNo && row.answer_no === answerNo);
      const metricSums = additiveOf(columns).flatMap((metric, at): MetricSum[] => {
        const { id } = metric;
        if (!answer.box.metrics.includes(id) || rejected?.metrics.has(id)) return [];
        const sum = total?.sums[at] ?? null;
        const distinctSum = distinct === undefined ? sum : totalOf(distinct, id);
        const magnitude = total?.magnitudes[at] ?? 0;
        const nonZero = total?.non_zero[at] ?? 0;
        return [sumOf(metric, answer.pages, { sum, distinctSum, magnitude, nonZero })];
      });
      const plain = plainSums.get(key) ?? new Map<Day, ReadonlyMap<string, string | null>>();
      return { ...answer, sums: metricSums, periodSums: withDistinct(plain, distinct) };
    });
    const controls: ControlFacts[] = [];
    for (const control of window.controls)
      controls.push(await readControl(warehouse, columns, { spooled, windowNo }, control));
    const pages = staged.pages.filter((page) => page.windowNo === windowNo);
    answered.push({
      spooled,
      windowNo,
      fetchedAt: window.fetchedAt,
      maturity: window.maturity,
      pages,
      answers,
      controls,
      failure:
        rejected?.failure ??
        strayWeek(spooled.window, periodRows) ??
        outsideDays(spooled.window, periodRows) ??
        keys?.failure ??
        null,
      rejects: rejected,
      copies: keys?.copies ?? [],
      periodRows,
      periodValues,
      // Pages are only known to be in order in themselves.
      isOrdered:
        pages.every((page) => page.isOrdered && page.file === pages[0]?.file) && !isBatched(window),
    });
  }
  return answered;
}

/** A key of the answers of a batch. */
const placeOf = (windowNo: number, answerNo: number): string => `${windowNo} ${answerNo}`;

type MetricTexts = ReadonlyMap<Day, ReadonlyMap<string, string | null>>;

const periodRow = z.object({
  window_no: z.number(),
  answer_no: z.number(),
  start_day: dayShape,
  sums: z.array(z.string().nullable()),
});

/** Reads sums by answer, period and metric; a slice without dates has them under the first day of its window. */
async function periodSums(
  warehouse: Warehouse,
  sql: string | null,
  columns: Columns,
  readable: readonly Readable[],
): Promise<ReadonlyMap<string, MetricTexts>> {
  const byAnswer = new Map<string, Map<Day, ReadonlyMap<string, string | null>>>();
  for (const row of sql === null ? [] : await warehouse.rows(sql, [], periodRow)) {
    const key = placeOf(row.window_no, row.answer_no);
    const window = readable[row.window_no]?.spooled.window;
    const start = window?.slice.grain === null ? window.replaced.start : row.start_day;
    const sums = new Map(additiveOf(columns).map(({ id }, at) => [id, row.sums[at] ?? null]));
    byAnswer.set(
      key,
      (byAnswer.get(key) ?? new Map<Day, ReadonlyMap<string, string | null>>()).set(start, sums),
    );
  }
  return byAnswer;
}

function withDistinct(plain: MetricTexts, distinct: MetricTexts = plain): PeriodSums {
  return new Map(
    [...plain].map(([start, sums]) => [
      start,
      new Map(
        [...sums].map(([metric, sum]) => [
          metric,
          { sum, distinctSum: distinct.get(start)?.get(metric) ?? null },
        ]),
      ),
    ]),
  );
}

/** The sum over all periods. Whole numbers stay exact up to 2^53, as far as the service's own totals are. */
function totalOf(periods: MetricTexts, metric: string): string | null {
  const sums = [...periods.values()].flatMap((texts) => texts.get(metric) ?? []);
  return sums.length === 0 ? null : String(sums.reduce((sum, text) => sum + Number(text), 0));
}

const controlRow = sumRow.pick({ sums: true, magnitudes: true, non_zero: true }).extend({
  start_day: dayShape,
});
const lostRow = z.object({ start_day: dayShape, value: z.string().nullable() });

/** Reads the sums of a control answer, and the values that it lists and the rows of its window lack. */
async function readControl(
  warehouse: Warehouse,
  columns: Columns,
  { spooled: { window }, windowNo }: Pick<Readable, 'spooled' | 'windowNo'>,
  control: ReadableAnswer,
): Promise<ControlFacts> {
  const { box, pages, failure } = control;
  if (pages.length === 0 || failure !== null)
    return { ...control, sums: [], periodSums: new Map(), lost: [] };
  const isRequested = ({ id }: Metric): boolean => box.metrics.includes(id);
  const added = additiveOf(columns).filter(isRequested);
  const sql = sumControl(
    window,
    added.map(({ id }) => id),
    pages,
  );
  const rows = await warehouse.rows(sql, [], controlRow);
  const texts: MetricTexts = new Map(
    rows.map(({ start_day: start, sums }) => [
      start,
      new Map(added.map(({ id }, at) => [id, sums[at] ?? null])),
    ]),
  );
  const isExact = pages.every(({ hasRejected }) => !hasRejected);
  const sums = added.map((metric, at): MetricSum => {
    const sum = totalOf(texts, metric.id);
    return sumOf(metric, pages, {
      sum,
      distinctSum: sum,
      magnitude: rows.reduce((all, { magnitudes }) => all + (magnitudes[at] ?? 0), 0),
      nonZero: rows.reduce((all, row) => all + (row.non_zero[at] ?? 0), 0),
    });
  });
  const facts = { ...control, sums: isExact ? sums : [], periodSums: withDistinct(texts) };
  if (box.control?.length === 1) return { ...facts, lost: [] };
  const names = columns.metrics.filter(isRequested).map(({ id }) => id);
  const lost = await warehouse.rows(
    lostValues(window, windowNo, box, { names, pages }),
    [],
    lostRow,
  );
  return { ...facts, lost: lost.map(({ start_day: start, value }) => ({ start, value })) };
}

/** The sums of a metric over the rows of an answer, with what the metric and the pages say of them. */
const sumOf = (
  metric: Metric,
  pages: ReadableAnswer['pages'],
  sums: Pick<MetricSum, 'sum' | 'distinctSum' | 'magnitude' | 'nonZero'>,
): MetricSum => ({
  metric: metric.id,
  ...sums,
  digits: Math.max(0, ...pages.map(({ digits }) => digits.get(metric.id) ?? 0)),
  isCount: metric.type.kind === 'BIGINT' || metric.isCount,
  isAssumed: !isCertain(metric),
});
