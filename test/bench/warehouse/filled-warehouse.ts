/** A warehouse of many days made by SQL alone, and reloads of its days by ripen's own replacing transaction. */

import { replaceWindows } from '../../../src/load/replace.ts';
import { totalTyped } from '../../../src/load/window-sql.ts';
import { PART, REJECTED, staging, WINDOW } from '../../../src/load/staged-sql.ts';
import { prepareTable } from '../../../src/tables/slice-table.ts';
import type { Target } from '../../../src/tables/target.ts';
import { addDays, day, daysBetween, daysIn, startOfDayAt, type DayInterval } from '../../../src/model/calendar.ts';
import { emptyLedger } from '../../../src/model/ledger.ts';
import type { Slice } from '../../../src/model/slice.ts';
import { planSlice } from '../../../src/plan/plan.ts';
import { openWarehouse } from '../../../src/warehouse/opening.ts';
import type { Warehouse } from '../../../src/warehouse/warehouse.ts';
import { slice } from '../../support/slice.ts';

const FIRST_DAY = day('2020-01-01');
const RUN_ID = 'bench';
/** Rows inserted by one statement: in date order, and little enough for the warehouse's memory. */
const DAYS_PER_INSERT = 50;

const metrics = ['installs', 'clicks', 'cost', 'revenue', 'all_revenue_total_d7', 'ecpi'];

export interface Filling {
  readonly path: string;
  readonly days: number;
  readonly rowsPerDay: number;
}

export interface FilledWarehouse {
  readonly slice: Slice;
  readonly days: DayInterval;
  readonly rows: number;
  /** Opens it for as long as `use` runs. */
  open<T>(use: (warehouse: Warehouse, target: Target) => Promise<T>): Promise<T>;
  /** Replaces some days with as many other rows; the time of the transaction. */
  reload(warehouse: Warehouse, target: Target, days: DayInterval, salt: number): Promise<number>;
  /** The same by a bare DELETE and INSERT: no totals, no restatements, no ledger. */
  reloadBarely(warehouse: Warehouse, target: Target, days: DayInterval, salt: number): Promise<number>;
}

/** Fills a new warehouse. */
export async function fillWarehouse({ path, days: count, rowsPerDay }: Filling): Promise<FilledWarehouse> {
  const days = { start: FIRST_DAY, end: addDays(FIRST_DAY, count) };
  const filled = slice({
    name: 'network_daily',
    dimensions: ['day', 'app_token', 'network', 'os_name', 'country_code'],
    metrics,
    datePeriod: { first: { day: FIRST_DAY }, last: { day: addDays(days.end, -1) } },
  });
  const open: FilledWarehouse['open'] = async (use) => {
    const warehouse = await openWarehouse(path, { mode: 'write', lockWaitMs: 0, emit: () => {} });
    try {
      return await use(warehouse, await prepareTable(warehouse, filled, [], RUN_ID));
    } finally {
      await warehouse.close();
    }
  };
  await open(async (warehouse, target) => {
    for (let start = days.start; start < days.end; start = addDays(start, DAYS_PER_INSERT)) {
      const end = addDays(start, DAYS_PER_INSERT);
      const part = { start, end: end < days.end ? end : days.end };
      await warehouse.run(`insert into ${target.table} select *, 0 from (${rowsOf(target, part, rowsPerDay, 0)})`);
    }
  });
  return {
    slice: filled,
    days,
    rows: count * rowsPerDay,
    open,
    async reload(warehouse, target, part, salt) {
      await stage(warehouse, target, part, rowsPerDay, salt);
      const file = `${path}.${part.start}.${salt}.parquet`;
      await warehouse.run(
        `copy (select * exclude (${WINDOW}, ${PART}, ${REJECTED}), 0::integer as "body," from ${staging.typed}) to '${file}' (format parquet)`,
      );
      const [window] = planSlice({
        slice: filled,
        metrics: target.metrics,
        ledger: emptyLedger,
        planAt: startOfDayAt(days.end, filled.utcOffset),
        forced: part,
      }).windows;
      if (window === undefined) throw new RangeError('No window covers the days.');
      const fetchedAt = startOfDayAt(days.end, filled.utcOffset);
      const spooled = {
        window,
        answers: [],
        whole: null,
        attempt: 0,
        requests: 1,
        requestedAt: fetchedAt,
        receivedAt: fetchedAt,
      };
      const known = daysIn(part).map((day) => {
        const bucket = { start: day, end: addDays(day, 1) };
        return [day, { bucket, rows: rowsPerDay, emptyRuns: 0, fetchedAt }] as const;
      });
      const read = {
        file,
        firstBody: 0,
        bodies: 1,
        pages: [],
        unfit: new Map(),
        digits: new Map(),
        weekStartsOn: null,
      };
      const part0 = {
        ...read,
        pages: [{ because: 'it is not looked at' }],
        rows: rowsPerDay,
        types: target.columns.metrics.map(({ type }) => type),
        hasExtra: false,
        hasRejected: false,
        isDistinct: true,
        isOrdered: true,
        windowNo: 0,
        partNo: 0,
      };
      const judged = {
        sound: {
          spooled,
          windowNo: 0,
          answers: [],
          warnings: [],
          maturity: { computedAt: null, immature: [], unread: null },
        },
        weekStartsOn: null,
        failure: null,
        rejects: null,
        copies: 0,
        sums: [],
        periodRows: new Map(daysIn(part).map((day) => [day, rowsPerDay])),
        isOrdered: true,
        verdict: 'unverifiable',
        comparisons: [],
        notAdditive: [],
        addsUp: [],
        warnings: [],
      } as const;
      const rows = daysBetween(part.start, part.end) * rowsPerDay;
      // As of a window that was loaded before, so that totals are taken before and after.
      const load = { judged, window, rows, rejects: { recorded: [], days: [] }, fetchedAt, known: new Map(known) };
      const staged = { columns: target.columns, parts: [part0], replacing: new Map<string, string>() };
      const replacement = { loads: [load], staged, isPlain: true, runId: RUN_ID };
      return timed(async () => {
        await warehouse.run(totalTyped(target.columns, 'day', part.start));
        await replaceWindows(warehouse, target, replacement);
      });
    },
    async reloadBarely(warehouse, target, part, salt) {
      await stage(warehouse, target, part, rowsPerDay, salt);
      return timed(() =>
        warehouse.transact(async () => {
          const inside = `"day" >= DATE '${part.start}' and "day" < DATE '${part.end}'`;
          await warehouse.run(`delete from ${target.table} where ${inside}`);
          await warehouse.run(
            `insert into ${target.table} select * exclude (${WINDOW}, ${PART}, ${REJECTED}), 0 from ${staging.typed} order by "day"`,
          );
        }),
      );
    },
  };
}

async function stage(
  warehouse: Warehouse,
  target: Target,
  days: DayInterval,
  rowsPerDay: number,
  salt: number,
): Promise<void> {
  await warehouse.run(
    `create or replace temp table ${staging.typed} as select 0 as ${WINDOW}, 0 as ${PART}, null::VARCHAR as ${REJECTED}, * from (${rowsOf(target, days, rowsPerDay, salt)})`,
  );
}

/** The slice's columns without `_load_id`, in the table's order and types. */
function rowsOf({ columns }: Target, days: DayInterval, rowsPerDay: number, salt: number): string {
  const cells = columns.metrics.map(({ id, type }, place) => {
    const value = `(hash(d, k, ${place}, ${salt}) % 1000000)`;
    return type.kind === 'BIGINT' ? `${value}::BIGINT as ${id}` : `(${value} / 1000)::DECIMAL(18,6) as ${id}`;
  });
  return `select
    DATE '${days.start}' + d::INTEGER as "day",
    'abcdefghij' || (k % 4) as app_token,
    'Example Network ' || (k // 4 % 25) as network,
    case when k % 2 = 0 then 'ios' else 'android' end as os_name,
    'C' || (k // 100) as country_code,
    ${cells.join(',\n    ')},
    '{}'::JSON as attr_dependency,
    null::JSON as "_extra"
from range(${daysBetween(days.start, days.end)}) as days(d), range(${rowsPerDay}) as keys(k)
order by d`;
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}
