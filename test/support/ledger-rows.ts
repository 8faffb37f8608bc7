/** Rows of the ledger for tests that make a warehouse by hand, with everything a test does not care about filled in. */

import { addDays, day } from '../../src/model/calendar.ts';
import { periodRow } from '../../src/warehouse/ledger.ts';
import { insertRows } from '../../src/warehouse/sql.ts';
import type { Warehouse } from '../../src/warehouse/warehouse.ts';
import { loadedPeriod } from './slice.ts';

type Row = Readonly<Record<string, unknown>>;

const AT = '2026-02-13T02:30:00Z';
const DAY = '2026-02-10';
const nextDay = (of: unknown): string => addDays(day(String(of)), 1);
const daysFrom = ({ start_day: start = DAY }: Row) => ({
  start_day: start,
  end_day: nextDay(start),
});

/** What a row of each table has besides what a test states. */
const defaults = {
  'ripen.slice_tables': ({ slice }: Row) => ({
    fingerprint: 'f1',
    table_name: `main."${String(slice)}"`,
    state: 'live',
    created_at: AT,
  }),
  'ripen.slice_metrics': () => ({
    position: 0,
    type: 'BIGINT',
    kind: 'plain',
    horizon_from: 'documented',
    additive: true,
    horizon_seconds: 604_800,
    settle_seconds: 3600,
    schedule: '["milestones",0]',
  }),
  'ripen.runs': ({ started_at: startedAt = AT }: Row) => ({
    command: 'sync',
    as_of: startedAt,
    started_at: startedAt,
    status: 'succeeded',
    version: '0',
    host: 'host',
    pid: 1,
  }),
  'ripen.warnings': () => ({ run_id: 'run', code: 'ODD', message: 'w', seen_at: AT }),
  'ripen.rejected_rows': (row: Row) => ({
    ...daysFrom(row),
    run_id: 'run',
    reason: 'not a number',
    row: '{"cost":"1,2"}',
    seen_at: AT,
  }),
  'ripen.schema_changes': () => ({ run_id: 'run', seen_at: AT }),
  'ripen.restatements': () => ({ after_final: false }),
  'ripen.catalog': () => ({
    filter: 'apps',
    name: '',
    short_name: '',
    section: '',
    formatting: '',
    description: '',
    seen_at: AT,
  }),
  'ripen.link_crawls': () => ({ links: 1, removed: 0, requests: 1, run_id: 'run' }),
  'ripen.loads': (row: Row) => ({
    ...daysFrom(row),
    load_id: 1,
    run_id: 'run',
    fingerprint: 'f1',
    reasons: [],
    parameters: {},
    metrics: ['installs'],
    requests: 1,
    bytes: 1,
    rows_fetched: 1,
    rows_loaded: 1,
    rows_rejected: 0,
    verdict: 'proven',
    proof: {},
    requested_at: AT,
    received_at: AT,
    loaded_at: AT,
  }),
  'ripen.periods': ({
    slice,
    start_day: start,
    end_day: end = nextDay(start),
    whole = true,
    state = 'final',
  }: Row) => ({
    ...periodRow(
      { slice: String(slice), fingerprint: 'f1' },
      loadedPeriod({
        bucket: { start: day(String(start)), end: day(String(end)) },
        fetchedAt: new Date(AT),
      }),
    ),
    trusted_at: whole === true && (state === 'final' || state === 'maturing') ? AT : null,
  }),
};

/** Stores rows of a table of the ledger. Those of one call state the same columns. */
export async function storeRows(
  warehouse: Warehouse,
  table: keyof typeof defaults,
  ...rows: readonly Row[]
): Promise<void> {
  await insertRows(
    warehouse,
    table,
    rows.map((row) => Object.assign(defaults[table](row), row)),
  );
}
