/** Brings a batch's rows into `typed`: reads the files, resolves unusual numbers, widens columns, sets rejects aside. */

import * as z from 'zod';

import { Failure } from '../errors.ts';
import type { Day } from '../model/calendar.ts';
import { recordRejects, type Reject } from '../warehouse/rejects.ts';
import { dayShape } from '../warehouse/shapes.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { subjectOf } from './check.ts';
import type { Sound } from './load-result.ts';
import { hasOddTexts, resolveTexts } from './resolve-texts.ts';
import { widenColumns } from './slice-table.ts';
import { stagedRows } from './staging-sql.ts';
import type { Target } from './target.ts';
import { rejectedRows, typeRows } from './typing-sql.ts';

export interface Staged {
  /** With the columns as wide as the batch needs them. */
  readonly target: Target;
  /** Whether no part of any window had content; there is nothing to check then. */
  readonly isEmpty: boolean;
  /** Windows with more rejected rows than their slice tolerates. */
  readonly failures: ReadonlyMap<number, Failure>;
  /** By window, the day each rejected row belongs to; null where none is known. */
  readonly rejected: ReadonlyMap<number, readonly (Day | null)[]>;
}

const rejectRow = z.object({ window_no: z.number(), day: dayShape.nullable(), reason: z.string(), row: z.string() });

/** Reasons named in one message; the others are in `ripen.rejected_rows`. */
const EXAMPLES = 3;

export async function stageBatch(
  warehouse: Warehouse,
  sound: readonly Sound[],
  how: { readonly target: Target; readonly runId: string },
): Promise<Staged> {
  const columns = { ...how.target.columns, extra: [...new Set(sound.flatMap(({ extra }) => extra))] };
  await nameAnswers(warehouse, sound);
  const paths = sound.flatMap(({ answers }) => answers.map(({ path }) => path));
  if (paths.length === 0) {
    // Only parts without content: nothing to read, but the windows are still to be emptied.
    await warehouse.run(`create or replace temp table typed as
select 0 as window_no, * exclude ("_load_id") from ${how.target.table} limit 0`);
    return { target: how.target, isEmpty: true, failures: new Map(), rejected: new Map() };
  }
  await warehouse.run(stagedRows(columns));
  await warehouse.run(typeRows(columns, new Set(), new Set()));
  if (!(await hasOddTexts(warehouse))) {
    return { target: how.target, isEmpty: false, failures: new Map(), rejected: new Map() };
  }
  const resolution = await resolveTexts(warehouse, columns);
  const target = await widenColumns(warehouse, how.target, resolution.widened, how.runId);
  const unusual = new Set(resolution.plain.map(({ metric }) => metric));
  const rejecting = new Set(resolution.notNumbers.map(({ metric }) => metric));
  await warehouse.run(typeRows({ ...target.columns, extra: columns.extra }, unusual, rejecting));
  if (await hasOddTexts(warehouse)) throw new RangeError('A text was neither cast nor rejected.');
  const rejects =
    rejecting.size === 0 ? [] : await warehouse.rows(rejectedRows(target.columns, rejecting), [], rejectRow);
  return { target, isEmpty: false, ...(await setAside(warehouse, sound, rejects, how.runId)) };
}

async function nameAnswers(warehouse: Warehouse, sound: readonly Sound[]): Promise<void> {
  const answers = sound.flatMap(({ answers, windowNo }) => answers.map(({ path }) => ({ path, window_no: windowNo })));
  const windows = sound.map(({ spooled, windowNo }) => ({
    window_no: windowNo,
    start_day: spooled.window.replaced.start,
    end_day: spooled.window.replaced.end,
  }));
  await warehouse.run(
    `create or replace temp table answers as
     select unnest(from_json($1::json, '[{"path":"VARCHAR","window_no":"INTEGER"}]'), recursive := true)`,
    [JSON.stringify(answers)],
  );
  await warehouse.run(
    `create or replace temp table windows as
     select unnest(from_json($1::json, '[{"window_no":"INTEGER","start_day":"DATE","end_day":"DATE"}]'), recursive := true)`,
    [JSON.stringify(windows)],
  );
}

/** Records the rejected rows and fails the windows that have too many of them. */
async function setAside(
  warehouse: Warehouse,
  sound: readonly Sound[],
  rejects: readonly z.infer<typeof rejectRow>[],
  runId: string,
): Promise<Pick<Staged, 'failures' | 'rejected'>> {
  const failures = new Map<number, Failure>();
  const rejected = new Map<number, readonly (Day | null)[]>();
  const recorded: Reject[] = [];
  for (const { windowNo, spooled } of sound) {
    const { window } = spooled;
    const mine = rejects.filter(({ window_no }) => window_no === windowNo);
    if (mine.length === 0) continue;
    // A row with two bad metrics is one row.
    const days = new Map(mine.map(({ row, day }) => [row, day]));
    const rows = days.size;
    rejected.set(windowNo, [...days.values()]);
    recorded.push(...mine.map(({ reason, row }) => ({ slice: window.slice.name, days: window.asked, reason, row })));
    if (rows <= window.slice.maxRejects) continue;
    const examples = [...new Set(mine.map(({ reason }) => reason))].slice(0, EXAMPLES).join('; ');
    failures.set(
      windowNo,
      new Failure('DATA_REJECTED', `${subjectOf(window)}: ${rows} rows could not be stored exactly (${examples}).`, {
        facts: { rows, tolerated: window.slice.maxRejects },
        hint: 'Look at ripen.rejected_rows; raise max_rejects to load the rest without them.',
      }),
    );
  }
  await recordRejects(warehouse, recorded, runId);
  return { failures, rejected };
}
