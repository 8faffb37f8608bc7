/**
 * Pairs of mechanisms in one world: after each night every stored cell is the service's, none is lost, and nothing is refused
 * that the world does not justify.
 *
 * `RIPEN_PAIRS_WORLDS` says how many worlds, `RIPEN_PAIRS_SEED` which; `RIPEN_PAIRS_WORLD` repeats one as it was printed.
 */

import { expect, test } from 'vitest';

import { cubeMetrics } from '../../src/model/cube.ts';
import { day, MS_PER_DAY } from '../../src/model/calendar.ts';
import type { Slice } from '../../src/model/slice.ts';
import {
  type Aim,
  type AnsweringWorld,
  type Asking,
  batchesAsked,
  type Change,
  countAsked,
  gridOf,
  inBatches,
  openAnswering,
  type Pages,
  type TrueRow,
  withCells,
} from '../support/answering.ts';
import { archived, loseWarehouse, replayInto } from '../support/archive-scene.ts';
import { lastRun, query } from '../support/contents.ts';
import { randomFrom } from '../support/random.ts';
import { noContent, noRows, short } from '../support/odd-answers.ts';
import {
  aimNames,
  completed,
  drawOne,
  drawWorld,
  mechanismGroups,
  oneOf,
  pairsOf,
  type PairWorld,
  textOf,
} from '../support/pair-worlds.ts';
import { slice } from '../support/slice.ts';
import { wireForms } from '../support/wire-forms.ts';

const worlds = Number(process.env['RIPEN_PAIRS_WORLDS'] ?? 8);
const firstSeed = Number(process.env['RIPEN_PAIRS_SEED'] ?? 1);
const repeated = process.env['RIPEN_PAIRS_WORLD'] ?? '';

const FIRST = '2026-05-31';
const DAYS = [FIRST, '2026-06-01', '2026-06-02', '2026-06-03', '2026-06-04'];
const NIGHTS = [1, 2, 3, 4];
const values = { app_token: ['a', 'b'], network: ['x', 'y', 'z'] };
const PAGE_SIZE = 4;

const print = (line: string): unknown => process.stdout.write(`${line}\n`);

/** The first day of June is 1; that of May before it 0. */
const dayNumber = (date: string): number => (date === FIRST ? 0 : Number(date.slice(8)));
/** The days that a night of a slice until yesterday, or today, requests. */
const lastDayOf = (night: number, isMoving: boolean): string =>
  DAYS[isMoving && night > 1 ? night : night - 1] ?? '';

interface Scene {
  readonly drawn: PairWorld;
  readonly world: AnsweringWorld;
  /** The slices from night to night. */
  readonly slices: (night: number) => Slice;
  /** By night: the cells of each meaning and choice of metrics, as the service has them. */
  readonly truths: Map<number, string[][]>;
  /** Mechanisms that took effect. */
  readonly met: Set<string>;
  night: number;
}

const forms: Readonly<Record<string, Pages['form']>> = {
  'pages by address': undefined,
  'pages by cursor': (page, next) => ({ next: next === null ? null : String(page + 1) }),
  'pages by total_pages': (page, next, count) => ({
    page,
    total_pages: Math.ceil(count / PAGE_SIZE),
    ...(next === null ? {} : { next }),
  }),
  'pages by total_rows': (page, next, count) => ({
    page,
    page_size: PAGE_SIZE,
    total_rows: count,
    ...(next === null ? {} : { next }),
  }),
};

const totalsPlaces: Readonly<Record<string, Pages['totals']>> = {
  'totals first': 'first',
  'totals last': 'last',
  'totals every': 'every',
  'totals of the page': 'of the page',
};

function changeOf(odd: string): Change {
  if (odd.startsWith('204')) return noContent;
  if (odd.startsWith('no rows')) return noRows;
  if (odd.includes('no totals')) return short(1, 'missing');
  return short(1, odd.includes('of all') ? 'of all' : 'of the rest');
}

/** The slice with all of its metrics, and as it is in each night. */
function slicesOf(has: (name: string) => boolean): {
  readonly full: Slice;
  readonly first: Slice;
  readonly changed: Slice;
} {
  const cohorts = ['all_revenue_total_d1', 'cohort_size_d1'];
  const cube = cubeMetrics(
    Object.fromEntries(
      [
        'cohort_size',
        'sessions',
        'all_revenue_total',
        'retained_users',
        'ad_revenue_total',
        'paying_users',
      ].map((key) => [key, ['d1']]),
    ),
  );
  const plain = [
    'installs',
    'clicks',
    'cost',
    'impressions',
    'reattributions',
    'reinstalls',
    ...(has('ratios') ? ['ecpi'] : []),
    ...(has('mature') ? cohorts : []),
    ...(has('star') ? ['a_events', 'b_events'] : []),
    'sessions',
  ];
  const metrics = has('cube') ? cube.map(({ metric }) => metric) : plain;
  /** Two batches at least, also where the filters of a part take some 40 bytes. */
  const batched = (of: Slice): Slice =>
    has('batches') ? inBatches(of, has('cube') ? 84 : has('mature') ? 78 : 70) : of;
  const shaped = (of: readonly string[]): Slice =>
    slice({
      name: 'facts',
      dimensions: [...(has('undated') ? [] : ['day']), 'app_token', 'network'],
      metrics: of,
      ...(has('cube') ? { cube: cube.slice(0, of.length) } : {}),
      datePeriod: { first: { day: day(FIRST) }, last: { daysAgo: 1 } },
      refresh: has('refresh changed') ? 'milestones' : 'nightly',
      completeness: has('warn') ? 'warn' : 'require',
      parameters: {
        ...(has('mature') ? { cohort_maturity: 'mature' } : {}),
        ...(has('filter') ? { [`${metrics[0]}__gte`]: '104' } : {}),
      },
    });
  const full = shaped(metrics);
  const first = has('metric added') ? shaped(metrics.slice(0, -1)) : full;
  const changed: Slice = {
    ...full,
    refresh: 'nightly',
    ...(has('moving') ? { datePeriod: { ...full.datePeriod, last: { daysAgo: 0 } } } : {}),
    parameters: {
      ...full.parameters,
      ...(has('meaning changed') ? { attribution_source: 'first' } : {}),
    },
  };
  return { full: batched(full), first: batched(first), changed: batched(changed) };
}

/** As it is configured: stars in place of what they stand for. */
const configured = (of: Slice, has: (name: string) => boolean): Slice =>
  has('star')
    ? { ...of, metrics: [...of.metrics.filter((name) => !name.endsWith('_events')), '*_events'] }
    : of;

async function openScene(drawn: PairWorld): Promise<Scene> {
  const has = (name: string): boolean => drawn.mechanisms.has(name);
  const { full, first, changed } = slicesOf(has);
  const grid = (night: number): TrueRow[] => gridOf(DAYS, values, full.metrics, night);
  const rows = (asking: Asking): TrueRow[] =>
    grid(scene.night)
      .filter((row) => dayNumber(row.day) < scene.night + (has('moving') ? 1 : 0))
      .map((row) => {
        const isMoved = has('moving') && dayNumber(row.day) === scene.night;
        const isOther = asking.query.get('attribution_source') === 'first';
        const more = (isMoved ? asking.ordinal : 0) + (isOther ? 1000 : 0);
        const cells = full.metrics.map((metric): [string, string] => [
          metric,
          String(Number(row[metric]) + more),
        ]);
        return more === 0 ? row : withCells(row, Object.fromEntries(cells));
      });
  const form = mechanismGroups.pages.find(has);
  const totals = totalsPlaces[mechanismGroups.totals.find(has) ?? ''];
  const wire = Object.entries(wireForms).find(([name]) => has(name))?.[1];
  const pagination = form === undefined ? undefined : forms[form];
  const world = await openAnswering([full], rows, {
    listed: ['a', 'b'],
    pages:
      totals === undefined
        ? null
        : { size: PAGE_SIZE, totals, ...(pagination === undefined ? {} : { form: pagination }) },
    maxRows: has('parts') ? 5 : Infinity,
    copies: ({ network }) =>
      /copies/.test([...drawn.mechanisms].join()) && network === 'y' ? 2 : 1,
    copiesCount: has('copies once') ? 'once' : 'as often',
    withheld: has('mature')
      ? (metric, date) => metric.endsWith('_d1') && dayNumber(date) > scene.night - 3
      : null,
    withheldTotal: drawn.seed % 2 === 0 ? 0 : null,
    ...(wire === undefined ? {} : { wire }),
  });
  const scene: Scene = {
    drawn,
    world,
    slices: (night) => (night >= changeNight ? changed : { ...first, datePeriod: dates(night) }),
    truths: new Map(),
    met: new Set(),
    night: 1,
  };
  const changeNight = 2 + (drawn.seed % 2);
  const dates = (night: number): Slice['datePeriod'] =>
    night === 1 || !has('moving') ? first.datePeriod : changed.datePeriod;
  return scene;
}

/** What is stored of each period: the night of its fetch, its cells, and whether it is declared as not proven. */
async function storedPeriods(scene: Scene, of: Slice) {
  const { world } = scene;
  const periods = await query(
    world.scenario,
    `select p.start_day, p.fetched_at, p.verdict, p.state from ripen.periods as p
     join ripen.slice_tables as t on t.slice = p.slice and t.fingerprint = p.fingerprint and t.state = 'live'`,
  );
  const tables = await query(
    world.scenario,
    "select 1 from information_schema.tables where table_name = 'facts'",
  );
  const cells = tables.length === 0 ? [] : await world.cells(of);
  const isUndated = of.grain === null;
  const stored = periods.map((period) => {
    const start = String(period['start_day']);
    return {
      start,
      night: Number(String(period['fetched_at']).slice(8, 10)),
      verdict: String(period['verdict']),
      state: String(period['state']),
      cells: cells.filter((cell) => isUndated || cell.startsWith(start)),
    };
  });
  const strays = isUndated
    ? []
    : cells.filter((cell) => !stored.some(({ start }) => cell.startsWith(start)));
  return { stored, strays };
}

/** Reports what is stored and not true; with `isWhole`, also what is missing. */
async function wrongs(scene: Scene, isWhole: boolean): Promise<string[]> {
  const { drawn, night } = scene;
  const isMoving = drawn.mechanisms.has('moving');
  const current = scene.slices(night);
  const full = slicesOf((name) => drawn.mechanisms.has(name)).full;
  const { stored, strays } = await storedPeriods(scene, full);
  const lines = strays.slice(0, 3).map((cell) => `stray ${cell}`);
  for (const period of stored) {
    if (period.verdict === 'unproven') continue;
    if (isMoving && dayNumber(period.start) === period.night) {
      if (period.state === 'final') lines.push(`today is final on night ${night}`);
      continue;
    }
    const isOf = (cell: string): boolean => current.grain === null || cell.startsWith(period.start);
    const candidates = (scene.truths.get(period.night) ?? []).map((cells) => cells.filter(isOf));
    const [last = []] = candidates;
    const allowed = isWhole ? [last] : candidates;
    if (allowed.some((cells) => cells.join() === period.cells.join())) continue;
    const lost = last.filter((cell) => !period.cells.includes(cell));
    const wrong = period.cells.filter((cell) => !last.includes(cell));
    lines.push(
      `${period.start} of night ${period.night}, ${period.verdict}: ${lost.length} of ${last.length} cells lost (${lost[0]}), ${wrong.length} wrong (${wrong[0]})`,
    );
  }
  if (isWhole && current.grain !== null) {
    for (const date of DAYS.filter(
      (each) =>
        each <= lastDayOf(night, isMoving && current.datePeriod.last !== full.datePeriod.last),
    ))
      if (!stored.some(({ start }) => start === date)) lines.push(`${date} is not loaded`);
  } else if (isWhole && stored.length === 0) lines.push('nothing is loaded');
  return lines;
}

/** Runs a world's nights; returns what is wrong, as lines. */
async function problemsOf(
  drawn: PairWorld,
  isTold = false,
): Promise<{ lines: string[]; met: Set<string> }> {
  const has = (name: string): boolean => drawn.mechanisms.has(name);
  const scene = await openScene(drawn);
  const { world, met } = scene;
  const random = randomFrom(drawn.seed);
  const odd = mechanismGroups.answer.find(has);
  const isForEver = odd?.endsWith('for ever') === true;
  const oddNight = has('parts') || random() < 0.7 ? 2 : 1;
  const killNight = has('kill') ? (oneOf(random, [1, 2, 3]) ?? 1) : 0;
  const lines: string[] = [];
  let isWhole = true;
  for (const name of drawn.mechanisms) met.add(name);
  try {
    for (const night of NIGHTS) {
      scene.night = night;
      const current = scene.slices(night);
      saveTruths(scene, night);
      if (night > 1) {
        world.maxRows = has('heavy') ? 5 : Infinity;
        world.cap = has('cap') ? 4 : Infinity;
      }
      const options = {
        slices: [configured(current, has)],
        config: {
          ...(has('replay') ? archived : {}),
          ...(has('control') ? { controlMs: 400 * MS_PER_DAY } : {}),
        },
      };
      let oddAnswers = 0;
      const restore =
        odd !== undefined && night === oddNight
          ? world.rewrite(
              aimOf(drawn, current),
              (report, asking) => {
                oddAnswers += 1;
                return changeOf(odd)(report, asking);
              },
              isForEver ? Infinity : 1,
            )
          : null;
      if (night === killNight) {
        const stop = new AbortController();
        const after = world.asked.length + Math.floor(random() * 4);
        const { wire } = world;
        world.wire = (reply) => {
          if (world.asked.length > after) stop.abort();
          return wire(reply);
        };
        await world.night(night, { ...options, signal: stop.signal });
        world.wire = wire;
        lines.push(...(await wrongs(scene, false)).map((line) => `killed night ${night}: ${line}`));
      }
      const { failures } = await world.night(night, options);
      restore?.();
      const isJustified = isForEver && oddAnswers > 0;
      const code = Number((await lastRun(world.scenario)).exit_code);
      if (failures.length > 0 && !isJustified)
        lines.push(
          `night ${night}: refused, ${code}: ${failures[0]?.code} ${failures[0]?.message}`,
        );
      if (![0, 65, 75].includes(code)) lines.push(`night ${night}: exit code ${code}`);
      isWhole = failures.length === 0;
      lines.push(...(await wrongs(scene, isWhole)).map((line) => `night ${night}: ${line}`));
      if (odd !== undefined && night === oddNight && oddAnswers === 0) met.delete(odd);
      if (lines.length > 0 && isTold) tell(world);
      if (lines.length > 0) return { lines, met };
    }
    if (has('replay')) {
      const { full } = slicesOf(has);
      const before = await world.cells(full);
      await loseWarehouse(world.scenario);
      const last = scene.slices(NIGHTS.length);
      await replayInto(world.scenario, { slices: [configured(last, has)], ...archived });
      lines.push(...(await wrongs(scene, isWhole)).map((line) => `replay: ${line}`));
      const after = new Set(await world.cells(full));
      const lost = before.filter((cell) => !after.has(cell));
      if (!has('moving') && lost.length > 0) lines.push(`replay: lost ${lost.length}, ${lost[0]}`);
    }
    if (has('batches') && batchesAsked(world).length < 2) met.delete('batches');
    if (has('parts') && countAsked(world, { part: 'in' }) === 0) met.delete('parts');
    return { lines, met };
  } catch (error) {
    return { lines: [`threw ${error instanceof Error ? error.stack : String(error)}`], met };
  } finally {
    await world.scenario.close();
  }
}

/** Prints the requests and warnings of a world that is repeated. */
function tell(world: AnsweringWorld): void {
  for (const { part, page, firstDay, lastDay, metrics, query: parameters } of world.asked) {
    const filters = [...parameters].filter(([name]) => /__/.test(name));
    print([part, page, `${firstDay}:${lastDay}`, metrics, ...filters].join(' '));
  }
  print(world.warnings().join('\n'));
}

/** Saves what the service has in a night under each configuration there was; the current one first. */
function saveTruths(scene: Scene, night: number): void {
  const has = (name: string): boolean => scene.drawn.mechanisms.has(name);
  const until = lastDayOf(night, has('moving'));
  const metricsOf = [scene.slices(1), scene.slices(NIGHTS.length)];
  const current = scene.slices(night);
  const truths = [current, ...metricsOf].map((of) => scene.world.answerTo(of, FIRST, until));
  scene.truths.set(night, truths);
}

function aimOf({ aim }: PairWorld, { metrics }: Slice): Aim {
  const last = metrics.at(-1) ?? '';
  const aims: Readonly<Record<string, Aim>> = {
    batch: { metric: last },
    in: { part: 'in' },
    'not in': { part: 'not in' },
    whole: { part: 'whole' },
    page: { page: 2 },
    undivided: { part: 'undivided' },
  };
  return aims[aim ?? ''] ?? {};
}

/** Removes mechanisms from a failing world as long as it fails. */
async function shrunk(drawn: PairWorld): Promise<{ world: PairWorld; lines: string[] }> {
  let best = { world: drawn, lines: (await problemsOf(drawn)).lines };
  for (const name of drawn.mechanisms) {
    const rest = new Set([...best.world.mechanisms].filter((other) => other !== name));
    const smaller = completed(rest, randomFrom(drawn.seed), drawn.seed, best.world.aim);
    if (smaller.mechanisms.size >= best.world.mechanisms.size) continue;
    const { lines } = await problemsOf(smaller);
    if (lines.length > 0) best = { world: smaller, lines };
  }
  return best;
}

/** The world that `textOf` printed. */
function parsed(text: string): PairWorld {
  const [, seed = '1', names = '', aim] = /^seed (\d+): (.*?)(?: at (.+))?$/.exec(text) ?? [];
  const mechanisms = new Set(names.split('; ').filter((name) => name !== ''));
  const known = Object.values(mechanismGroups).flat() as readonly string[];
  for (const name of mechanisms) expect(known).toContain(name);
  return { seed: Number(seed), mechanisms, aim: aimNames.find((name) => name === aim) ?? null };
}

/** Draws the worlds, and counts the pairs that met; lists the smallest form of those that fail. */
async function drawWorlds(failed: string[]): Promise<void> {
  const random = randomFrom(firstSeed);
  const possible = new Set<string>();
  for (let at = 0; at < 20_000; at += 1)
    for (const pair of pairsOf(drawOne(random, 0).mechanisms)) possible.add(pair);
  const met = new Set<string>();
  for (let at = 0; at < worlds; at += 1) {
    const drawn = drawWorld(random, firstSeed + at, met);
    const result = await problemsOf(drawn);
    for (const pair of pairsOf(result.met)) met.add(pair);
    if ((at + 1) % 50 === 0) print(`${at + 1} worlds, ${met.size} pairs, ${failed.length} failed`);
    if (result.lines.length === 0) continue;
    const small = await shrunk(drawn);
    failed.push(`${textOf(small.world)} -> ${small.lines.join(' | ')}`);
    print(failed.at(-1) ?? '');
  }
  print(
    `pairs met: ${met.size} of ${possible.size}; worlds that failed: ${failed.length} of ${worlds}`,
  );
}

test(
  `in ${worlds} worlds (seed ${firstSeed}) in which pairs of mechanisms meet no cell is wrong, none lost, and nothing refused`,
  async () => {
    const failed: string[] = [];
    if (repeated === '') await drawWorlds(failed);
    else failed.push(...(await problemsOf(parsed(repeated), true)).lines);
    expect(failed).toEqual([]);
  },
  60_000 + worlds * 30_000,
);
