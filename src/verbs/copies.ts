/** The library's verbs for readers' data: copies, descriptions, exports and drops. */

import type { Config } from '../config/config.ts';
import type { DropOptions } from './drop.ts';
import type { AccountLakes } from '../publish/words/ddl.ts';
import type { Engine } from '../publish/words/engines.ts';
import type { ExportOptions } from '../publish/export.ts';
import {
  chosenSlices,
  verb,
  withDefaults,
  onWarehouse,
  type Circumstances,
} from '../run/circumstances.ts';

/** Updates all copies. A target that fails does not stop the others, but one that cannot be written at all does. */
export const publish = verb(async (config: Config, options: Circumstances = {}) => {
  const { publishAudited } = await import('../publish/publish.ts');
  const { refreshJoins } = await import('../account/joins.ts');
  const { assertWritable } = await import('../publish/places/destinations.ts');
  const { assertNoFutureFetch } = await import('../warehouse/ledger.ts');
  await assertWritable(config);
  const resolved = withDefaults(config, options);
  return onWarehouse(config, 'write', resolved, async (warehouse) => {
    await assertNoFutureFetch(warehouse, config.slices, resolved.planAt);
    await refreshJoins(warehouse);
    return publishAudited(config, warehouse, resolved);
  });
});

/**
 * Returns the statements with which an engine reads the lakes, and with `others` also those of other accounts and views of all
 * together. Throws `USAGE_INVALID` if the engine can read no lake, or accounts cannot be distinguished.
 */
export const lakeDdl = verb(
  async (
    config: Config,
    options: Circumstances & { readonly engine: Engine; readonly others?: readonly Config[] },
  ) => {
    const { describedLakes, lakesDdl } = await import('../publish/words/ddl.ts');
    const { engine, others = [] } = options;
    const resolved = withDefaults(config, options);
    const accounts: AccountLakes[] = [];
    for (const account of [config, ...others]) {
      const lakes = await onWarehouse(account, 'read', resolved, async (warehouse) =>
        describedLakes(engine, account, warehouse, resolved.signal),
      );
      accounts.push({ ...account, lakes });
    }
    return lakesDdl(engine, accounts);
  },
);

/** Returns `sources.yml` for dbt. Throws `USAGE_INVALID` if it can read no copy. */
export const dbtSources = verb(async (config: Config, options: Circumstances = {}) => {
  const { dbtSourcesYaml } = await import('../publish/words/dbt.ts');
  const resolved = withDefaults(config, options);
  return onWarehouse(config, 'read', resolved, async (warehouse) =>
    dbtSourcesYaml(config, warehouse, resolved.signal),
  );
});

/**
 * Removes a slice, configured or not, or its periods that ended by a day, from warehouse, archive and copies. The next sync
 * loads what is configured again.
 */
export const drop = verb(async (config: Config, options: DropOptions) =>
  (await import('./drop.ts')).dropSlice(config, options),
);

/** Returns what `drop` would delete. */
export const dropLoss = verb(async (config: Config, options: Omit<DropOptions, 'agree'>) =>
  (await import('./drop.ts')).lossOf(config, options),
);

/** Writes the rows of a slice or another table as Parquet, CSV or NDJSON. */
export const exportRows = verb(async (config: Config, options: Circumstances & ExportOptions) => {
  const { exportRequest, exportSlice } = await import('../publish/export.ts');
  const { assertOutput } = await import('../publish/places/destinations.ts');
  if (options.table === undefined && options.slice !== undefined)
    chosenSlices(config, [options.slice]);
  const resolved = withDefaults(config, options);
  exportRequest(options);
  if (options.output !== '-') await assertOutput(config, options.output);
  return onWarehouse(config, 'read', resolved, async (warehouse) =>
    exportSlice(warehouse, { ...options, signal: resolved.signal }),
  );
});
