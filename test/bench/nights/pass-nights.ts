/**
 * Nights under several policies against the simulated world, without a warehouse, and what became of every cell. Pure.
 *
 * A cell is one metric of one row. The world's answer for a day does not depend on the window it was asked in, so each
 * night is requested once and handed to every policy.
 */

import { UTC, type Day } from '../../../src/model/calendar.ts';
import { fingerprintOf, type Slice } from '../../../src/model/slice.ts';
import type { PeriodRecord, SliceTable } from '../../../src/model/ledger.ts';
import { RUNS_TO_BELIEVE_EMPTY } from '../../../src/model/maturity.ts';
import { finalAt, isFinal } from '../../support/finality.ts';
import type { Metric } from '../../../src/model/metric.ts';
import { ageOf, type Period } from '../../../src/model/period.ts';
import type { Window } from '../../../src/model/window.ts';
import type { World } from '../../support/simulator/world.ts';
import { loadedPeriod } from '../../support/slice.ts';
import type { PlannedNight, Policy } from './policy.ts';
import { askWorld, differingRows, noRows, type DayRows } from './reported-rows.ts';

export interface Setting {
  readonly world: World;
  /** By day. */
  readonly slice: Slice;
  readonly metrics: readonly Metric[];
  /** The runs' instants. */
  readonly nights: readonly Date[];
  /** What the service says once nothing moves any more. */
  readonly truth: ReadonlyMap<Day, DayRows>;
}

export interface NightCount {
  readonly requests: number;
  readonly rows: number;
}

export interface Outcome {
  readonly policy: string;
  readonly nights: readonly NightCount[];
  readonly requests: number;
  readonly rows: number;
  /** Fetched rows by the reason their period was due, and by its age in days. */
  readonly rowsByReason: ReadonlyMap<string, number>;
  readonly rowsByAge: ReadonlyMap<number, number>;
  /** Cells that became final by ripen's horizons, as they were at that moment … */
  readonly finalCells: number;
  /** … and how many of them the service says otherwise in the end. */
  readonly wrongFinalCells: number;
  /** Period × metric pairs seen not final after a run at or past their horizon, summed over the runs. */
  readonly lateCells: number;
  /** Cells held at the end of periods the policy will never ask for again … */
  readonly settledCells: number;
  /** … and how many of them differ from the truth, by metric. */
  readonly frozenCells: ReadonlyMap<string, number>;
}

class Ledger {
  readonly #policy: Policy;
  readonly #setting: Setting;
  readonly #periods = new Map<Day, PeriodRecord>();
  readonly #known = new Map<Day, Period>();
  readonly #held = new Map<Day, DayRows>();
  readonly #nights: NightCount[] = [];
  readonly #rowsByReason = new Map<string, number>();
  readonly #rowsByAge = new Map<number, number>();
  #finalCells = 0;
  #wrongFinalCells = 0;
  #lateCells = 0;

  constructor(policy: Policy, setting: Setting) {
    this.#policy = policy;
    this.#setting = setting;
  }

  windows(asOf: Date): readonly Window[] {
    return this.#policy.windows(this.#night(asOf));
  }

  load(windows: readonly Window[], answer: ReadonlyMap<Day, DayRows>, asOf: Date): void {
    let rows = 0;
    for (const window of windows) {
      for (const { period, reason } of window.periods) {
        const found = answer.get(period.bucket.start) ?? noRows;
        this.#countFinal(period, found, asOf);
        add(this.#rowsByReason, reason, found.size);
        add(this.#rowsByAge, ageOf(period, asOf, UTC), found.size);
        this.#replace(period, found, asOf);
        rows += found.size;
      }
    }
    this.#nights.push({ requests: windows.length, rows });
    this.#countLate(asOf);
  }

  outcome(): Outcome {
    const sum = (pick: (night: NightCount) => number): number =>
      this.#nights.reduce((total, night) => total + pick(night), 0);
    return {
      policy: this.#policy.name,
      nights: this.#nights,
      requests: sum(({ requests }) => requests),
      rows: sum(({ rows }) => rows),
      rowsByReason: this.#rowsByReason,
      rowsByAge: this.#rowsByAge,
      finalCells: this.#finalCells,
      wrongFinalCells: this.#wrongFinalCells,
      lateCells: this.#lateCells,
      ...this.#frozen(),
    };
  }

  #night(asOf: Date): PlannedNight {
    const { slice, metrics } = this.#setting;
    const table: SliceTable = {
      fingerprint: fingerprintOf(slice),
      state: 'live',
      size: null,
      periods: this.#periods,
    };
    return { slice, metrics, table, asOf };
  }

  #replace(period: Period, rows: DayRows, fetchedAt: Date): void {
    const { metrics } = this.#setting.slice;
    const { start } = period.bucket;
    this.#known.set(start, period);
    this.#held.set(start, rows);
    this.#periods.set(start, heldOf(period, metrics, rows, fetchedAt));
  }

  /** Judges the cells that this fetch makes final, before it replaces what was held. */
  #countFinal(period: Period, rows: DayRows, asOf: Date): void {
    const { slice, metrics, truth } = this.#setting;
    const before = this.#periods.get(period.bucket.start);
    const now = heldOf(period, slice.metrics, rows, asOf);
    for (const metric of metrics) {
      const wasFinal = before !== undefined && isFinal(before, metric, slice);
      if (wasFinal || !isFinal(now, metric, slice)) continue;
      this.#finalCells += rows.size;
      this.#wrongFinalCells += differingRows(
        rows,
        truth.get(period.bucket.start) ?? noRows,
        metric.id,
      );
    }
  }

  #countLate(asOf: Date): void {
    const { slice, metrics } = this.#setting;
    for (const [start, period] of this.#known) {
      const fetchedAt = this.#periods.get(start)?.fetchedAt ?? new Date(0);
      for (const metric of metrics) {
        const at = finalAt(period, metric, slice);
        if (at !== null && at <= asOf && fetchedAt < at) this.#lateCells += 1;
      }
    }
  }

  #frozen(): Pick<Outcome, 'settledCells' | 'frozenCells'> {
    const { metrics, nights, truth } = this.#setting;
    const night = this.#night(nights.at(-1) ?? new Date(0));
    const frozenCells = new Map<string, number>();
    let settledCells = 0;
    for (const [start, period] of this.#known) {
      const loaded = this.#periods.get(start);
      const rows = this.#held.get(start) ?? noRows;
      if (loaded === undefined || !this.#policy.isSettled(period, loaded, night)) continue;
      settledCells += rows.size * metrics.length;
      for (const { id } of metrics)
        add(frozenCells, id, differingRows(rows, truth.get(start) ?? noRows, id));
    }
    return { settledCells, frozenCells };
  }
}

/** Passes the nights in order, each policy from nothing; outcomes in the order of the policies. */
export function passNights<Policies extends readonly Policy[]>(
  policies: readonly [...Policies],
  setting: Setting,
): { [At in keyof Policies]: Outcome };
export function passNights(policies: readonly Policy[], setting: Setting): Outcome[] {
  const ledgers = policies.map((policy) => new Ledger(policy, setting));
  for (const asOf of setting.nights) {
    const planned = ledgers.map((ledger) => ({ ledger, windows: ledger.windows(asOf) }));
    const answer = askNight(
      planned.flatMap(({ windows }) => windows),
      setting,
      asOf,
    );
    for (const { ledger, windows } of planned) ledger.load(windows, answer, asOf);
  }
  return ledgers.map((ledger) => ledger.outcome());
}

function askNight(
  windows: readonly Window[],
  { world, slice }: Setting,
  asOf: Date,
): ReadonlyMap<Day, DayRows> {
  const [first] = windows.map(({ requested }) => requested.start).sort();
  const end = windows
    .map(({ requested }) => requested.end)
    .sort()
    .at(-1);
  return first === undefined || end === undefined
    ? new Map<Day, DayRows>()
    : askWorld(world, slice, { start: first, end }, asOf);
}

/** What a load of a period leaves in the ledger. The world's days all have rows, or have none for good. */
function heldOf(
  { bucket, requested }: Period,
  metrics: readonly string[],
  rows: DayRows,
  fetchedAt: Date,
): PeriodRecord {
  const emptyRuns = rows.size > 0 ? 0 : RUNS_TO_BELIEVE_EMPTY;
  return loadedPeriod({ bucket, requested, fetchedAt, metrics, rows: rows.size, emptyRuns });
}

function add<K>(to: Map<K, number>, key: K, count: number): void {
  to.set(key, (to.get(key) ?? 0) + count);
}
