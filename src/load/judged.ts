/** Turns judged windows into results: decides which of their periods are loaded, and which warnings they get. */

import * as z from 'zod';

import type { Day } from '../model/calendar.ts';
import { subjectOf, type Window } from '../model/window.ts';
import { count, dayShape } from '../warehouse/sql.ts';
import type { Rejects } from './check.ts';
import { emptyStretches, MIN_SHARE, lossFailure, sharesOf } from './guard.ts';
import { isWithin, joined, knownPeriods, type Replaceable, rowsIn } from './load-ledger.ts';
import type { Loaded, LoadRequest, LoadResult, LoadWarning } from './load-result.ts';
import type { Judged } from './proof.ts';
import { replaceWindows } from './replace.ts';
import { rememberAdditivity } from '../tables/slice-metrics.ts';
import type { Staged } from './staged-sql.ts';
import { countShrunk } from './table-sql.ts';

/** Replaces the periods whose answer is accepted, in one transaction; the others are requested again or stay as they are. */
export async function replaceJudged(
  all: readonly Judged[],
  staged: Staged,
  request: LoadRequest,
): Promise<Loaded> {
  const { warehouse, acceptLoss, target } = request;
  const results: LoadResult[] = [];
  const loads: Replaceable[] = [];
  const windows = all.map(({ sound }) => sound.spooled.window);
  const knownOf = await knownPeriods(warehouse, target, windows);
  const guarded = acceptLoss
    ? []
    : all.filter(({ sound }) => knownOf(sound.spooled.window).size > 0);
  const shrunk = await shrunkBatches(guarded, request);
  for (const judged of all) {
    const { spooled } = judged.sound;
    const fetchedAt = request.fetchedAt ?? spooled.requestedAt;
    const known = knownOf(spooled.window);
    const answered = answeredRows(judged);
    const counts = { answered: new Map(answered), known: new Map(known) };
    for (const { start, answered: rows, stored } of shrunk) {
      const before = known.get(start);
      if (before === undefined) continue;
      counts.answered.set(start, rows);
      counts.known.set(start, { ...before, rows: stored });
    }
    const shares = sharesOf(spooled.window, counts, {
      fetchedAt,
      acceptLoss,
      isRepeated: spooled.isDoubted,
    });
    const first = shares.find(({ fate }) => fate === 'load');
    for (const share of shares) {
      const { fate, window } = share;
      if (fate === 'load') {
        const empty = emptyStretches(window, answered);
        // Warnings about the whole answer belong to the first share that is loaded.
        const warnings = [...(share === first ? warningsOf(judged) : []), ...emptyWarning(empty)];
        const stored = {
          rows: rowsIn(window, judged.periodRows),
          rejects: rejectsIn(window, judged, share === first),
        };
        loads.push({ judged, window, ...stored, fetchedAt, known, empty, warnings });
      } else if (fate !== 'newer') {
        const batch = shrunk.findLast(({ start }) => isWithin(start, window.replaced));
        const failure = lossFailure(share, counts, `${subjectOf(window)}${batch?.clause ?? ''}`);
        results.push({ kind: fate === 'doubt' ? 'request again' : 'failed', window, failure });
      }
    }
  }
  const [first] = loads;
  if (first === undefined) return { results, target };
  const replaced = await replaceWindows(loads, staged, request);
  const shown = {
    notAdditive: loads.flatMap(({ judged }) => judged.notAdditive),
    addsUp: loads.flatMap(({ judged }) => judged.addsUp),
  };
  return {
    results: [...results, ...replaced.results],
    target: await rememberAdditivity(warehouse, replaced.target, shown, first.fetchedAt),
  };
}

const shrunkRow = z.object({ start_day: dayShape, batch: count, answered: count, stored: count });

/** Per period and batch of metrics, the rows with values, if too few of them were answered; the least share is last. */
async function shrunkBatches(judged: readonly Judged[], { warehouse, target }: LoadRequest) {
  const batched = judged.flatMap(({ sound }) =>
    sound.answers.length > sound.spooled.window.parts.length ? [sound] : [],
  );
  if (batched.length === 0 || target.columns.cube !== undefined) return [];
  const lists = new Set(
    batched.flatMap(({ answers }) => answers.map(({ metrics }) => metrics.join())),
  );
  const batches = [...lists].map((list) => list.split(','));
  const days = joined(batched.map(({ spooled }) => spooled.window.replaced));
  const windowNos = batched.map(({ windowNo }) => windowNo);
  const found = await warehouse.rows(
    countShrunk(batches, target, days, windowNos),
    [MIN_SHARE],
    shrunkRow,
  );
  return found.map(({ start_day: start, batch, answered, stored }) => {
    const [first, ...others] = batches[batch] ?? [];
    return {
      start,
      answered,
      stored,
      clause: `, ${first}${others.length > 0 ? ` and ${others.length} more metrics` : ''}`,
    };
  });
}

/** Rows, in a cube values, by first day of the period. Rejected rows count: a period that has only such rows is not empty. */
function answeredRows({
  sound,
  periodRows,
  periodValues,
  rejects,
}: Judged): ReadonlyMap<Day, number> {
  // 1 if a cube has only zeros there.
  const answered = new Map(
    [...periodRows].map(([start, rows]) => [
      start,
      Math.max(periodValues.get(start) ?? 0, Math.min(rows, 1)),
    ]),
  );
  for (const day of rejects?.days ?? []) {
    const of = sound.spooled.window.periods.find(
      ({ period }) => day !== null && isWithin(day, period.bucket),
    );
    const start = of?.period.bucket.start;
    if (start !== undefined) answered.set(start, (answered.get(start) ?? 0) + 1);
  }
  return answered;
}

/** The rejected rows of a share of a window. Rows of unknown day count in every share; the first loaded share records all. */
function rejectsIn(
  part: Window,
  { sound, rejects }: Judged,
  isFirst: boolean,
): Pick<Rejects, 'recorded' | 'days'> {
  if (rejects === null || part === sound.spooled.window)
    return rejects ?? { recorded: [], days: [] };
  const days = rejects.days.filter((day) => day === null || isWithin(day, part.replaced));
  return { days, recorded: isFirst ? rejects.recorded : [] };
}

function emptyWarning(stretches: readonly string[]): LoadWarning[] {
  if (stretches.length === 0) return [];
  const message = `The service had no rows for ${stretches.join(', ')}; loaded as empty, which becomes final once two runs after the end of a period agree.`;
  return [{ code: 'EMPTY_PERIODS', message }];
}

function warningsOf({ sound, copies, rejects, warnings, notAdditive }: Judged): LoadWarning[] {
  const all: LoadWarning[] = [...sound.warnings, ...warnings];
  const rejected = rejects?.days.length ?? 0;
  if (copies > 0) {
    const message = `${copies} identical rows came more than once; one of each was kept.`;
    all.push({ code: 'DUPLICATE_ROWS', message });
  }
  if (rejected > 0) {
    const message = `${rejected} rows could not be stored exactly; see ripen.rejected_rows.`;
    all.push({ code: 'REJECTED_ROWS', message });
  }
  for (const metric of new Set(notAdditive)) {
    const message = `The rows' ${metric} did not add up to the service's total while other metrics did: it is not additive here, and no longer summed.`;
    all.push({ code: 'NOT_ADDITIVE', message });
  }
  return all;
}
