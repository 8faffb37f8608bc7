/**
 * Removes a slice, or its oldest periods: from the warehouse first, in one transaction. After a crash, the same command clears
 * the archive, and the next publish the copies. Older versions of Delta tables stay readable for as long as they are kept.
 */

import { randomUUID } from 'node:crypto';

import { dropEntries, entriesToDrop } from '../extract/archive.ts';
import type { Config } from '../config/config.ts';
import { Failure } from '../errors.ts';
import { refreshJoins } from '../account/joins.ts';
import type { Day } from '../model/calendar.ts';
import { SLICE_NAME } from '../model/slice.ts';
import { assertOwnCopies } from '../publish/copies.ts';
import { type Publication, publishAudited } from '../publish/publish.ts';
import { assertWritable } from '../publish/places/destinations.ts';
import { type Circumstances, onWarehouse, withDefaults } from '../run/circumstances.ts';
import { deleteSlice, tablesOfSlice } from '../warehouse/deleting.ts';
import { recordSchemaChanges } from '../warehouse/runs.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';

export interface DropOptions extends Circumstances {
  readonly slice: string;
  /** Only the periods that ended by the start of this day (default: all). */
  readonly before?: Day | null;
  /** A function receives what would be deleted. Nothing is, unless it returns true. */
  readonly agree: true | ((loss: Loss) => Promise<boolean>);
}

export interface Loss {
  readonly slice: string;
  readonly before: Day | null;
  readonly is_configured: boolean;
  readonly periods: number;
  readonly rows: number;
  /** Archived answers with such a period, each deleted as a whole. */
  readonly answers: number;
}

export interface Dropped extends Publication {
  /** Null if `agree` did not return true. Nothing was changed then. */
  readonly dropped: Loss | null;
}

export async function dropSlice(config: Config, options: DropOptions): Promise<Dropped> {
  await assertWritable(config);
  const { slice, before = null, agree } = options;
  const resolved = withDefaults(config, options);
  return onWarehouse(config, 'write', resolved, async (warehouse) => {
    await assertOwnCopies(config, warehouse, resolved.signal);
    const { tables, answers, loss } = await lossIn(config, warehouse, options);
    const isAgreed: unknown = agree === true || (await agree(loss));
    if (isAgreed !== true) return { dropped: null, published: [], failures: [] };
    resolved.signal.throwIfAborted();
    await warehouse.transact(async () => {
      await deleteSlice(warehouse, slice, before, tables);
      // The ledger keeps the fact that something was deleted, but not the data.
      const change = before === null ? 'slice dropped' : `periods before ${before} dropped`;
      const lost = `${loss.periods} periods, ${loss.rows} rows`;
      const dropped = { object: slice, change, before: lost };
      await recordSchemaChanges(warehouse, randomUUID(), [dropped]);
    });
    if (SLICE_NAME.test(slice)) await dropEntries(config.warehouse, slice, answers);
    await refreshJoins(warehouse);
    return { dropped: loss, ...(await publishAudited(config, warehouse, resolved)) };
  });
}

/** Changes nothing, not even the version of the warehouse. */
export const lossOf = async (config: Config, options: Omit<DropOptions, 'agree'>): Promise<Loss> =>
  onWarehouse(config, 'read', withDefaults(config, options), async (warehouse) => {
    return (await lossIn(config, warehouse, options)).loss;
  });

async function lossIn(
  config: Config,
  warehouse: Warehouse,
  { slice, before = null }: Omit<DropOptions, 'agree'>,
) {
  const tables = await tablesOfSlice(warehouse, slice, before);
  if (before !== null && tables.length > 0 && tables.every(({ grain }) => grain === null)) {
    const message = `The slice ${slice} has no date dimension to drop periods by.`;
    throw new Failure('USAGE_INVALID', message, { hint: 'Leave out --before to drop the slice.' });
  }
  // Only a valid slice name can be the name of archived files.
  const answers = SLICE_NAME.test(slice)
    ? await entriesToDrop(config.warehouse, slice, before)
    : [];
  const loss: Loss = {
    slice,
    before,
    is_configured: config.slices.some(({ name }) => name === slice),
    periods: tables.reduce((sum, { periods }) => sum + periods, 0),
    rows: tables.reduce((sum, { rows }) => sum + rows, 0),
    answers: answers.length,
  };
  const isStored = before === null && tables.length > 0;
  if (isStored || loss.periods + loss.rows + loss.answers > 0) return { tables, answers, loss };
  const what =
    before === null ? `a slice ${slice}` : `periods of ${slice} that ended before ${before}`;
  const message = `Neither the warehouse ${config.warehouse} nor its archive held ${what}.`;
  throw new Failure('USAGE_INVALID', message, {
    facts: { slice, before },
    hint: 'See `ripen status` for what there is.',
  });
}
