/**
 * Removing a slice, or its oldest periods, from the warehouse and from the copies.
 *
 * The warehouse goes first, in one transaction; what a crash then left in the archive goes with the same command given again, and
 * what it left in the copies with the next publish. Older versions of Delta tables answer for as long as they are kept.
 */

import { randomUUID } from 'node:crypto';

import { answersToDrop, dropAnswers } from './archive/archive.ts';
import type { Config } from './config/config.ts';
import { Failure } from './errors.ts';
import { refreshJoins } from './links/joins.ts';
import type { Day } from './model/calendar.ts';
import { SLICE_NAME } from './model/slice.ts';
import { publish, type Publication } from './publish/publish.ts';
import { refuseCopiesOfOthers, refuseUnwritablePlaces } from './publish/places.ts';
import type { Circumstances } from './run/circumstances.ts';
import { forgetPeriods, forgetSlice, sliceTables } from './warehouse/forgetting.ts';
import { type OpenRequest, withWarehouse } from './warehouse/opening.ts';
import { recordSchemaChange } from './warehouse/runs.ts';
import type { Warehouse } from './warehouse/warehouse.ts';

export interface DropOptions extends Circumstances {
  readonly slice: string;
  /** Only the periods that ended by the start of this day; null: all, the default. */
  readonly before?: Day | null;
  /** True deletes. A function receives what would be deleted; nothing is deleted unless it returns true. It may throw. */
  readonly agree: true | ((loss: Loss) => Promise<boolean>);
}

/** What is to be dropped, all of a slice where `before` is null, and how the warehouse is to be opened for that. */
interface DropRequest extends Omit<OpenRequest, 'mode'> {
  readonly slice: string;
  readonly before: Day | null;
  readonly signal: AbortSignal;
}

/** What is deleted. */
export interface Loss {
  readonly slice: string;
  readonly before: Day | null;
  /** Whether a sync loads the slice. */
  readonly is_configured: boolean;
  readonly periods: number;
  readonly rows: number;
  /** In the archive; of those that hold later periods too only what is dropped goes. */
  readonly answers: number;
}

export interface Dropped extends Publication {
  /** Null when it was not agreed to; then nothing was touched. */
  readonly dropped: Loss | null;
}

/** Drops and publishes. Throws `USAGE_INVALID` where there is nothing to drop, and what keeps any run from starting. */
export async function dropSlice(
  config: Config,
  request: DropRequest,
  agree: (loss: Loss) => Promise<boolean>,
): Promise<Dropped> {
  await refuseUnwritablePlaces(config);
  const { slice, before, emit, signal } = request;
  return withWarehouse(config.warehouse, { ...request, mode: 'write' }, async (warehouse) => {
    await refuseCopiesOfOthers(config, warehouse, signal);
    const { tables, answers, loss } = await measure(config, warehouse, request);
    if (!(await agree(loss))) return { dropped: null, published: [], failures: [] };
    signal.throwIfAborted();
    await warehouse.transact(async () => {
      if (before === null) await forgetSlice(warehouse, slice, tables);
      else await forgetPeriods(warehouse, slice, before, tables);
      // What was deleted stays known, without what it was.
      await recordSchemaChange(warehouse, {
        runId: randomUUID(),
        object: slice,
        name: null,
        change: before === null ? 'slice dropped' : `periods before ${before} dropped`,
        before: `${loss.periods} periods, ${loss.rows} rows`,
        after: null,
      });
    });
    if (SLICE_NAME.test(slice)) await dropAnswers(config.warehouse, slice, answers);
    await refreshJoins(warehouse);
    return { dropped: loss, ...(await publish({ publish: config.publish }, warehouse, { emit, signal })) };
  });
}

/** What a drop would delete; changes nothing, not even the version of the warehouse. Throws as `dropSlice` does. */
export async function lossOf(config: Config, request: DropRequest): Promise<Loss> {
  return withWarehouse(config.warehouse, { ...request, mode: 'read' }, async (warehouse) => {
    return (await measure(config, warehouse, request)).loss;
  });
}

/** What is to go, and how much that is. */
async function measure(config: Config, warehouse: Warehouse, { slice, before }: DropRequest) {
  const tables = await sliceTables(warehouse, slice, before);
  if (before !== null && tables.length > 0 && tables.every(({ grain }) => grain === null)) {
    throw new Failure('USAGE_INVALID', `The slice ${slice} had no date dimension to drop periods by.`, {
      hint: 'Leave out --before to drop the slice.',
    });
  }
  // Any other word is no name of files.
  const answers = SLICE_NAME.test(slice) ? await answersToDrop(config.warehouse, slice, before) : [];
  const loss: Loss = {
    slice,
    before,
    is_configured: config.slices.some(({ name }) => name === slice),
    periods: tables.reduce((sum, { periods }) => sum + periods, 0),
    rows: tables.reduce((sum, { rows }) => sum + rows, 0),
    answers: answers.length,
  };
  const isKnown = before === null && tables.length > 0;
  if (isKnown || loss.periods + loss.rows + loss.answers > 0) return { tables, answers, loss };
  const what = before === null ? `a slice ${slice}` : `periods of ${slice} that ended before ${before}`;
  const message = `Neither the warehouse ${config.warehouse} nor its archive held ${what}.`;
  throw new Failure('USAGE_INVALID', message, {
    facts: { slice, before },
    hint: 'See `ripen status` for what there is.',
  });
}
