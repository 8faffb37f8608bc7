/** Several accounts, one configuration and warehouse each, read as one: views over the slices that all of them have in one shape. */

import type { Config } from '../config/config.ts';
import { Failure } from '../errors.ts';
import type { Emit } from '../events.ts';
import { LOCK_WAIT_MS } from '../model/duration.ts';
import { withWarehouse } from '../warehouse/opening.ts';
import { asText, describedLakes, dialectOf, lakeDdl, pinOf } from './ddl.ts';
import { schemaName, schemaStatements, viewStatements, type DescribedLake } from './ddl.ts';
import { engineWords } from './engine-words.ts';
import type { Engine } from './engines.ts';
import { isOfSlice, type LakeTable } from './lake-table.ts';
import { refuseCopiesOfOthers } from './places.ts';
import { sliceViews } from './slice-views.ts';

/** What one configuration publishes. */
export interface AccountLakes {
  /** The configuration's `name`. */
  readonly account: string | null;
  readonly file: string;
  readonly warehouse: string;
  readonly lakes: readonly DescribedLake[];
}

/** What an engine can read of what a configuration publishes. Throws `WAREHOUSE_FOREIGN` where that is another warehouse's. */
export async function accountLakes(
  engine: Engine,
  { name, file, warehouse: path, publish }: Pick<Config, 'name' | 'file' | 'warehouse' | 'publish'>,
  stated: { readonly emit: Emit; readonly signal: AbortSignal; readonly lockWaitMs: number | null },
): Promise<AccountLakes> {
  const { emit, signal, lockWaitMs } = stated;
  const opening = { mode: 'read', lockWaitMs: lockWaitMs ?? LOCK_WAIT_MS, emit, signal } as const;
  return withWarehouse(path, opening, async (warehouse) => {
    await refuseCopiesOfOthers({ publish }, warehouse, signal);
    const lakes = await describedLakes(engine, { publish }, warehouse, signal);
    return { account: name ?? null, file, warehouse: path, lakes };
  });
}

interface Account {
  readonly account: string;
  readonly lake: DescribedLake;
}

const ACCOUNT = 'account';

/**
 * The statements for the Delta tables of every account, each in a schema of its own, and union views with a column `account` in one
 * more. Throws `USAGE_INVALID` for accounts that cannot be told apart.
 */
export function accountsDdl(engine: Engine, configured: readonly AccountLakes[]): string {
  const words = engineWords[engine];
  const schemas = new Set<string>();
  const accounts = configured.map(({ account, file, lakes }): Account => {
    const lake = lakes.find(({ isDelta }) => isDelta);
    if (account === null) throw unclear(`${file} has no name`, 'State name: in each configuration.');
    if (lake === undefined) throw unclear(`${file} publishes no Delta tables`, 'Add a delta target to publish.');
    return { account, lake: { ...lake, schema: schemaName(lake.root, schemas) } };
  });
  const identities = [
    ...accounts.map(({ account }) => `the name ${account}`),
    ...configured.map(({ warehouse }) => `the warehouse ${warehouse}`),
    ...accounts.map(({ lake }) => `the place of Delta tables ${lake.root}`),
  ];
  const twice = identities.find((each, at) => identities.indexOf(each) < at);
  if (twice !== undefined) throw unclear(`two configurations have ${twice}`, 'Give each one of its own.');
  const [first] = accounts;
  if (first === undefined) return '';
  const union = {
    ...first.lake,
    schema: schemaName(commonRoot(accounts.map(({ lake }) => lake.root)), schemas),
    night: null,
  };
  const differing: string[] = [];
  const statements: string[] = [];
  for (const slice of new Set(accounts.flatMap(({ lake }) => lake.tables.filter(isOfSlice).map(({ name }) => name)))) {
    const tables = accounts.map(({ lake }) => lake.tables.find((table) => table.name === slice && isOfSlice(table)));
    const [model] = tables;
    const other = accounts.find((_, at) => shapeOf(tables[at]) !== shapeOf(model));
    if (model === undefined || other !== undefined) {
      const names = `${first.account} and ${(other ?? first).account}`;
      differing.push(`${slice} has no view: its columns or their types differ between ${names}`);
    } else if (model.columns.some(({ name }) => name === ACCOUNT)) {
      differing.push(`${slice} has no view: it has a column ${ACCOUNT} of its own`);
    } else {
      for (const relation of [model, ...sliceViews(model, dialectOf(words, first.lake.schema))]) {
        const { name, comment } = relation;
        const columns = [{ name: ACCOUNT, type: 'VARCHAR', comment: 'Name of the account' }, ...relation.columns];
        const rows = accounts.map(({ account, lake }) => {
          const { from, column, text } = dialectOf(words, lake.schema, name === slice ? pinOf(words, lake) : '');
          const cells = [
            `${text(account)} as ${column(ACCOUNT)}`,
            ...relation.columns.map((each) => column(each.name)),
          ];
          return `select ${cells.join(', ')}\nfrom ${from(name)}`;
        });
        statements.push(
          ...viewStatements(words, union.schema, { name, comment, columns, rows: rows.join('\nunion all\n') }),
        );
      }
    }
  }
  const heading = [
    `The accounts ${accounts.map(({ account }) => account).join(', ')} as one, in the schema ${union.schema}: views with a column ${ACCOUNT}.`,
    ...differing.map((line) => line.replaceAll('\n', ' ')),
  ];
  const each = accounts.map(({ lake }) => lakeDdl(engine, lake));
  return [...each, asText(heading, [...schemaStatements(words, union), ...statements])].join('\n');
}

/** What has to be the same of a slice in every account. */
const shapeOf = (table: LakeTable | undefined): string =>
  JSON.stringify(
    [table?.columns, table?.cohorts?.columns].map((columns) => columns?.map(({ name, type }) => [name, type])),
  );

/** The folder above all of them; `accounts` for none. */
function commonRoot(roots: readonly string[]): string {
  const [first = [], ...others] = roots.map((root) => root.split('/').slice(0, -1));
  const depth = first.findIndex((step, at) => others.some((other) => other[at] !== step));
  const shared = (depth < 0 ? first : first.slice(0, depth)).filter((step) => step !== '');
  return shared.at(-1) ?? 'accounts';
}

function unclear(because: string, hint: string): Failure {
  return new Failure('USAGE_INVALID', `The accounts could not be read as one: ${because}.`, { hint });
}
