/**
 * The core against the truth: rows are drawn, answered in batches and parts, spoiled in one named way, and decided. What is
 * replaced as proven is the truth; what is spoiled once is loaded in the end; everything else leaves what is stored as it is.
 */

import { expect, test } from 'vitest';

import type { Answered, AnswerFacts, PeriodSum, Replacement } from '../../src/load/answered.ts';
import { decide } from '../../src/load/decide.ts';
import { addDays, day, type Day } from '../../src/model/calendar.ts';
import { addsUpCertainly } from '../../src/model/metric.ts';
import {
  type Box,
  boxId,
  controlBoxesOf,
  type Part,
  valuesOf,
  type Window,
} from '../../src/model/window.ts';
import type { Answer } from '../../src/extract/spool.ts';
import { randomFrom } from '../support/random.ts';
import { slice, windowOfDays } from '../support/slice.ts';

const CASES = Number(process.env['RIPEN_DECIDE_CASES'] ?? 5000);
const FIRST = day('2026-05-01');
const NETWORKS = ['a', 'b', 'c', null] as const;

interface Kind {
  /** Whether the sums of a metric show missing rows, its values are counts, and its name alone says so. */
  readonly adds: boolean;
  readonly isCount: boolean;
  readonly isAssumed?: boolean;
}
const METRICS: Readonly<Record<string, Kind>> = {
  installs: { adds: true, isCount: true },
  clicks: { adds: true, isCount: true },
  cost: { adds: true, isCount: false },
  made_up: { adds: true, isCount: true, isAssumed: true },
  ecpi: { adds: false, isCount: false },
  ctr: { adds: false, isCount: false },
};

interface Row {
  readonly day: Day;
  readonly network: string | null;
  readonly values: Readonly<Record<string, number>>;
}

/** The way in which one answer is spoiled, and how often. */
const SPOILS = [
  'nothing',
  'no content',
  'no content, and the list cut',
  'a row cut',
  'a row cut, with the totals of the rest',
  'a row twice, counted once',
  'a row twice, counted twice',
  'totals rounded',
  'totals left out',
  'today moved',
  'capped',
] as const;
type Spoil = (typeof SPOILS)[number];

interface Case {
  readonly name: string;
  readonly window: Window;
  readonly batches: readonly (readonly string[])[];
  readonly truth: readonly Row[];
  readonly spoil: Spoil;
  readonly isForever: boolean;
  /** The box that is spoiled, among those for rows. */
  readonly target: number;
  readonly fetchedAt: Date;
}

function draw(seed: number): Case {
  const random = randomFrom(seed);
  const pick = <T>(items: readonly [T, ...T[]]): T =>
    items[Math.floor(random() * items.length)] ?? items[0];
  const days = pick([1, 2, 3]);
  const metrics = pick<readonly string[]>([
    ['installs', 'clicks', 'cost', 'ecpi'],
    ['installs', 'ecpi', 'ctr'],
    ['installs', 'clicks', 'cost'],
    ['ecpi', 'ctr'],
    ['made_up', 'ecpi'],
    ['installs'],
  ]);
  const isFiltered = random() < 0.2;
  const declared = slice({
    name: 'daily',
    dimensions: ['day', 'network'],
    metrics,
    ...(isFiltered ? { parameters: { installs__gte: '1' } } : {}),
  });
  const parts = pick<readonly Part[]>([
    [{}],
    [{}],
    [{ network: { in: ['a'], notIn: [] } }, { network: { in: null, notIn: ['a'] } }],
    [
      { network: { in: ['a'], notIn: [] } },
      { network: { in: ['b'], notIn: [] } },
      { network: { in: null, notIn: ['a', 'b'] } },
    ],
  ]);
  const certain = metrics.find((id) => addsUpCertainly(declared, id));
  const others = metrics.filter((id) => id !== certain);
  const width = pick([1, 2, 9]);
  const batches = Array.from({ length: Math.max(1, Math.ceil(others.length / width)) }, (_, at) => [
    ...(certain === undefined ? [] : [certain]),
    ...others.slice(at * width, (at + 1) * width),
  ]);
  const truth: Row[] = [];
  for (let at = 0; at < days; at += 1) {
    for (const network of NETWORKS) {
      if (random() < 0.15) continue;
      const valueOf = (id: string): number =>
        METRICS[id]?.isCount === true
          ? 1 + Math.floor(random() * 900)
          : Math.round(1 + random() * 90_000) / 100;
      const values = Object.fromEntries(metrics.map((id) => [id, valueOf(id)]));
      truth.push({ day: addDays(FIRST, at), network, values });
    }
  }
  const isToday = random() < 0.4;
  return {
    name: '',
    window: windowOfDays(declared, FIRST, days, parts),
    batches,
    truth,
    spoil: pick(SPOILS),
    isForever: random() < 0.5,
    target: Math.floor(random() * parts.length * batches.length),
    // Noon of the last day, or a week later.
    fetchedAt: new Date(`${addDays(FIRST, isToday ? days - 1 : days + 7)}T12:00:00Z`),
  };
}

const isIn = ({ network }: Row, part: Part): boolean => {
  const { in: wanted, notIn } = valuesOf(part, 'network');
  return (wanted?.includes(network ?? '') ?? true) && !notIn.includes(network ?? '');
};

const sumOf = (rows: readonly Row[], id: string): number =>
  rows.reduce((sum, { values }) => sum + Math.round((values[id] ?? 0) * 100), 0) / 100;

const keyOf = (row: Row): string => `${row.day} ${row.network ?? 'NULL'}`;

/** The rows of a box as it is answered, the totals stated beside them, and why they may be cut. */
function answerOf(
  { window, truth, spoil, isForever, target }: Case,
  box: Box,
  { boxNo, isFirst }: { readonly boxNo: number; readonly isFirst: boolean },
): {
  readonly rows: readonly Row[];
  readonly totals: Map<string, string>;
  readonly isCut: boolean;
} {
  const whole = truth.filter((row) => isIn(row, box.part));
  const isSpoiled = boxNo === target && (isForever || isFirst);
  const sound = { rows: whole, totals: totalsOf(box, whole), isCut: false };
  const [first, ...rest] = whole;
  if (!isSpoiled || first === undefined) return sound;
  const lastDay = addDays(window.replaced.end, -1);
  switch (spoil) {
    case 'nothing':
      return sound;
    case 'no content':
    case 'no content, and the list cut':
      return { rows: [], totals: new Map(), isCut: false };
    case 'a row cut':
      return { ...sound, rows: rest };
    case 'a row cut, with the totals of the rest':
      return { rows: rest, totals: totalsOf(box, rest), isCut: false };
    case 'a row twice, counted once':
      return { ...sound, rows: [first, ...whole] };
    case 'a row twice, counted twice':
      return { rows: [first, ...whole], totals: totalsOf(box, [first, ...whole]), isCut: false };
    case 'totals rounded':
      return { ...sound, totals: totalsOf(box, whole, (value) => Math.round(value * 10) / 10) };
    case 'totals left out':
      return { ...sound, totals: new Map() };
    case 'capped':
      return { rows: rest, totals: totalsOf(box, rest), isCut: true };
    case 'today moved':
    default: {
      const moved = ({ values, ...row }: Row): Row =>
        row.day === lastDay
          ? {
              ...row,
              values: Object.assign({}, values, { installs: (values['installs'] ?? 0) + 7 }),
            }
          : { ...row, values };
      const rows = whole.map(moved);
      return { rows, totals: totalsOf(box, rows), isCut: false };
    }
  }
}

/** The sums of the metrics of a box that add up, over its rows. */
const sumsOf = (box: Box, rows: readonly Row[]): AnswerFacts['sums'] => {
  const distinct = [...new Map(rows.map((row) => [keyOf(row), row])).values()];
  return box.metrics.flatMap((id) => {
    const { adds, isCount, isAssumed = false } = METRICS[id] ?? { adds: false, isCount: false };
    if (!adds) return [];
    return [
      {
        metric: id,
        sum: rows.length === 0 ? null : String(sumOf(rows, id)),
        distinctSum: rows.length === 0 ? null : String(sumOf(distinct, id)),
        magnitude: sumOf(rows, id),
        nonZero: rows.length,
        precision: [{ rows: rows.length, digits: isCount ? 0 : 2 }],
        isCount,
        isAssumed,
      },
    ];
  });
};

/** The totals that are stated beside the rows of a box. */
const totalsOf = (box: Box, rows: readonly Row[], round = (value: number): number => value) =>
  new Map(
    box.metrics.flatMap((id): [string, string][] =>
      METRICS[id]?.adds === true ? [[id, String(round(sumOf(rows, id)))]] : [],
    ),
  );

function periodSumsOf(
  rows: readonly Row[],
  metrics: readonly string[],
): Map<Day, Map<string, PeriodSum>> {
  const sums = new Map<Day, Map<string, PeriodSum>>();
  for (const start of new Set(rows.map((row) => row.day))) {
    const ofDay = rows.filter((row) => row.day === start);
    const distinct = [...new Map(ofDay.map((row) => [keyOf(row), row])).values()];
    sums.set(
      start,
      new Map(
        metrics.map((id) => [
          id,
          { sum: String(sumOf(ofDay, id)), distinctSum: String(sumOf(distinct, id)) },
        ]),
      ),
    );
  }
  return sums;
}

/** The facts that a load would count, and the rows that it would store. */
function answered(
  drawn: Case,
  repeated: ReadonlySet<string>,
  doubts: number,
): { readonly facts: Answered; readonly stored: ReadonlyMap<string, Row> } {
  const { window, batches, truth, fetchedAt, spoil, isForever } = drawn;
  const boxes = window.parts.flatMap((part, partNo) =>
    batches.map((metrics, batchNo): Box => ({ part, partNo, metrics, batchNo, control: null })),
  );
  const stored = new Map<string, Row>();
  const copies = batches.map(() => 0);
  const answers = boxes.map((box, boxNo): AnswerFacts => {
    const { rows, totals, isCut } = answerOf(drawn, box, {
      boxNo,
      isFirst: !repeated.has(boxId(box)) && doubts < 3,
    });
    for (const row of rows) {
      const values = Object.fromEntries(box.metrics.map((id) => [id, row.values[id] ?? 0]));
      const earlier = stored.get(keyOf(row));
      stored.set(keyOf(row), { ...row, values: { ...values, ...earlier?.values } });
    }
    const distinct = [...new Map(rows.map((row) => [keyOf(row), row])).values()];
    copies[box.batchNo] = (copies[box.batchNo] ?? 0) + rows.length - distinct.length;
    return {
      box,
      pages: [],
      rows: rows.length,
      failure: null,
      warnings: [],
      lackedMetrics: [],
      otherKeys: [],
      maturity: [],
      unfollowed: null,
      doubt: isCut ? { because: 'the service warned of a limit', isRefutable: false } : null,
      totals: rows.length > 0 || totals.size > 0 ? [totals] : [],
      sums: sumsOf(box, rows),
      periodSums: periodSumsOf(rows, box.metrics),
      lost: [],
    };
  });
  const periodRows = new Map<Day, number>();
  for (const row of stored.values()) periodRows.set(row.day, (periodRows.get(row.day) ?? 0) + 1);
  const controlBoxes = controlBoxesOf(window);
  const isListed = (row: Row): boolean =>
    spoil !== 'no content, and the list cut' ||
    (!isForever && controlBoxes.some((box) => repeated.has(boxId(box)))) ||
    stored.has(keyOf(row));
  const listed = truth.filter(isListed);
  const facts: Answered = {
    spooled: {
      window,
      doubts,
      isConfirmation: true,
      round: null,
      answers: [...boxes, ...controlBoxes].map((box): Answer => {
        const at = fetchedAt;
        return { box, pages: [], unfollowed: null, requests: 1, requestedAt: at, receivedAt: at };
      }),
      controlFailure: null,
    },
    windowNo: 0,
    fetchedAt,
    maturity: { computedAt: null, immature: [], unread: null },
    answers,
    controls: controlBoxes.map((box): Answered['controls'][number] => {
      const isSum = box.control?.length === 1;
      const rows = isSum ? truth : listed;
      const lost = isSum ? [] : rows.filter((row) => !stored.has(keyOf(row)));
      return {
        box,
        pages: [],
        rows: rows.length,
        failure: null,
        warnings: [],
        lackedMetrics: [],
        otherKeys: [],
        maturity: [],
        unfollowed: null,
        doubt: null,
        totals: [totalsOf(box, truth)],
        sums: sumsOf(box, rows),
        periodSums: periodSumsOf(rows, box.metrics),
        lost: lost.map((row) => ({ start: row.day, value: row.network })),
      };
    }),
    failure: null,
    conflicts: [],
    rejects: null,
    copies,
    spread: new Set(copies.flatMap((surplus, batchNo) => (surplus > 0 ? [batchNo] : []))),
    periodRows,
    periodValues: periodRows,
    sharedSums: new Map(),
  };
  return { facts, stored };
}

/** Decides a window as often as it is requested again. Returns what is replaced in the end, with the rows; null if nothing. */
function settle(
  drawn: Case,
): { readonly replacement: Replacement; readonly stored: ReadonlyMap<string, Row> } | null {
  const repeated = new Set<string>();
  let { window } = drawn;
  for (let doubts = 0; doubts < 5; doubts += 1) {
    const { facts, stored } = answered({ ...drawn, window }, repeated, doubts);
    const [fate] = decide(facts, {
      acceptLoss: false,
      stored: new Map(),
      totals: new Map(),
      stated: new Map(),
    });
    if (fate?.kind === 'replace') return { replacement: fate, stored };
    if (fate?.kind !== 'again') return null;
    ({ window } = fate);
    for (const { box } of facts.spooled.answers) {
      if (fate.boxes?.has(boxId(box)) !== false) repeated.add(boxId(box));
    }
  }
  throw new Error('A window was requested again for ever.');
}

/** Whether something beside the spoiled answer states what it should have been. */
function isRefutable({ window, batches, spoil }: Case): boolean {
  if (spoil === 'a row cut') return true;
  if (spoil !== 'a row cut, with the totals of the rest' && !spoil.startsWith('no content'))
    return true;
  return batches.length > 1 || controlBoxesOf(window).length > 0;
}

test(`of ${CASES} windows, each spoiled in one of ${SPOILS.length} ways, whatever is loaded as proven is the truth`, () => {
  const wrong: string[] = [];
  const refused: string[] = [];
  const seen = new Map<string, number>();
  for (let seed = 1; seed <= CASES; seed += 1) {
    const drawn = draw(seed);
    const { window, batches, truth, spoil, isForever, fetchedAt } = drawn;
    const name = `${seed}: ${spoil} ${isForever ? 'for ever' : 'once'}, ${window.slice.metrics.join('+')}, ${window.parts.length} parts, ${batches.length} batches`;
    const settled = settle(drawn);
    const result = settled === null ? 'held' : settled.replacement.verdict;
    seen.set(`${spoil}: ${result}`, (seen.get(`${spoil}: ${result}`) ?? 0) + 1);
    if (settled === null) {
      const isHarmless = ['nothing', 'totals rounded', 'totals left out'].includes(spoil);
      const isTwice = spoil.startsWith('a row twice');
      // A single answer that is short is split at once, without a second request.
      const isHealed = !isForever && spoil !== 'capped' && spoil !== 'a row cut';
      const isOver =
        spoil !== 'today moved' || fetchedAt >= new Date(`${window.replaced.end}T00:00:00Z`);
      if (isHarmless || isTwice || !isOver || isHealed) refused.push(name);
      continue;
    }
    if (settled.replacement.verdict !== 'proven' || !isRefutable(drawn)) continue;
    const open = addDays(window.replaced.end, -1);
    const rowsOf = (rows: Iterable<Row>): string[] =>
      [...rows]
        .filter((row) => spoil !== 'today moved' || row.day !== open)
        .map((row) => `${keyOf(row)} ${window.slice.metrics.map((id) => row.values[id]).join()}`)
        .sort();
    if (rowsOf(settled.stored.values()).join() !== rowsOf(truth).join()) wrong.push(name);
  }
  expect(wrong.slice(0, 5)).toEqual([]);
  expect(refused.slice(0, 5)).toEqual([]);
  expect(seen.size).toBeGreaterThan(SPOILS.length);
});
