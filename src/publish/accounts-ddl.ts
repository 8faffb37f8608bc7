/** Several accounts, one configuration and warehouse each, read as one: views over the slices that all of them have in one shape. */

import type { Config } from '../config/config.ts';
import { Failure } from '../errors.ts';
import type { Emit } from '../events.ts';
import { LOCK_WAIT_MS } from '../model/duration.ts';
import { withWarehouse } from '../warehouse/opening.ts';
import { describedLakes, dialectOf, lakeDdl, preambleOf, viewOver, type DescribedLake } from './ddl.ts';
import { schemaName } from './schema-name.ts';
import { engineWords, type EngineWords } from './engine-words.ts';
import type { Engine } from './engines.ts';
import { sliceViews } from './lake-sql.ts';
import type { LakeColumn, LakeTable } from './lake-table.ts';
import { refuseCopiesOfOthers } from './places.ts';

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
    return {
      account: name ?? null,
      file,
      warehouse: path,
      lakes: await describedLakes(engine, { publish }, warehouse, signal),
    };
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
  const accounts = configured.map((each): Account => {
    const lake = each.lakes.find(({ isDelta }) => isDelta);
    if (each.account === null) throw unclear(`${each.file} has no name`, 'State name: in each configuration.');
    if (lake === undefined) throw unclear(`${each.file} publishes no Delta tables`, 'Add a delta target to publish.');
    const schema = schemaName(lake.root, schemas);
    schemas.add(schema);
    return { account: each.account, lake: { ...lake, schema } };
  });
  refuseShared(
    'name',
    accounts.map(({ account }) => account),
  );
  refuseShared(
    'warehouse',
    configured.map(({ warehouse }) => warehouse),
  );
  refuseShared(
    'place of Delta tables',
    accounts.map(({ lake }) => lake.root),
  );
  const [first] = accounts;
  if (first === undefined) return '';
  const schema = schemaName(commonRoot(accounts.map(({ lake }) => lake.root)), schemas);
  const union = { ...first.lake, schema, night: null };
  const slices = new Set(accounts.flatMap(({ lake }) => lake.tables.filter(isSlice).map(({ name }) => name)));
  const differing: string[] = [];
  const statements: string[] = [];
  for (const slice of slices) {
    const difference = differenceIn(slice, accounts);
    if (difference === null) statements.push(...unionsOf(slice, accounts, words, union));
    else differing.push(`${slice} has no view: ${difference}`);
  }
  const heading = [
    `The accounts ${accounts.map(({ account }) => account).join(', ')} as one, in the schema ${schema}: views with a column ${ACCOUNT}.`,
    ...differing,
  ].map((line) => `-- ${line.replaceAll('\n', ' ')}\n`);
  const each = accounts.map(({ lake }) => lakeDdl(engine, lake));
  const made = [...preambleOf(words, schema), ...statements].map((sql) => `\n${sql};\n`);
  return [...each, [...heading, ...made].join('')].join('\n');
}

/** The union of a slice's table, and of each view beside it, over the accounts. */
function unionsOf(slice: string, accounts: readonly Account[], words: EngineWords, union: DescribedLake): string[] {
  const { name: nameOf } = words.views ?? words;
  const [model] = accounts;
  const table = model === undefined ? undefined : tableOf(slice, model.lake);
  if (model === undefined || table === undefined) return [];
  return [table, ...sliceViews(table, dialectOf(words, model.lake))].flatMap((relation) => {
    const { name, comment } = relation;
    const columns = [{ name: ACCOUNT, type: 'VARCHAR', comment: 'Name of the account' }, ...relation.columns];
    const rows = accounts.map(({ account, lake }) => {
      const { from, column, text } = dialectOf(words, lake);
      const cells = [`${text(account)} as ${column(ACCOUNT)}`, ...relation.columns.map((each) => column(each.name))];
      // The views beside it show one night already.
      return `select ${cells.join(', ')}\nfrom ${name === slice ? from(name) : nameOf(name, lake.schema)}`;
    });
    const shown = { ...table, name, comment, columns, key: null };
    return viewOver(shown, rows.join('\nunion all\n'), words, union);
  });
}

const isSlice = ({ isLoaded }: LakeTable): boolean => isLoaded;

const tableOf = (slice: string, { tables }: DescribedLake): LakeTable | undefined =>
  tables.find((table) => table.name === slice && isSlice(table));

/** How a slice differs between accounts; null where it has one shape. */
function differenceIn(slice: string, accounts: readonly Account[]): string | null {
  const found = accounts.map(({ account, lake }) => ({ account, table: tableOf(slice, lake) }));
  const lacking = found.filter(({ table }) => table === undefined).map(({ account }) => account);
  if (lacking.length > 0) return `${lacking.join(', ')} without it`;
  const shapes = found.map(({ account, table }) => ({ account, types: typesOf(table?.columns ?? []) }));
  const [first, ...others] = shapes;
  if (first === undefined) return null;
  if (first.types.has(ACCOUNT)) return `it has a column ${ACCOUNT} of its own`;
  for (const { account, types } of others) {
    for (const name of new Set([...first.types.keys(), ...types.keys()])) {
      const [one, other] = [first.types.get(name), types.get(name)];
      if (one === other) continue;
      return `${name} is ${one ?? 'missing'} in ${first.account} and ${other ?? 'missing'} in ${account}`;
    }
  }
  const isCohort = found.map(({ table }) =>
    JSON.stringify(table?.cohorts?.columns.map(({ name, type }) => [name, type])),
  );
  return new Set(isCohort).size > 1 ? 'its cohorts differ' : null;
}

const typesOf = (columns: readonly LakeColumn[]): Map<string, string> =>
  new Map(columns.map(({ name, type }) => [name, type]));

/** The folder above all of them; `accounts` for none. */
function commonRoot(roots: readonly string[]): string {
  const [first = [], ...others] = roots.map((root) => root.split('/').slice(0, -1));
  const depth = first.findIndex((step, at) => others.some((other) => other[at] !== step));
  const shared = (depth < 0 ? first : first.slice(0, depth)).filter((step) => step !== '');
  return shared.at(-1) ?? 'accounts';
}

function refuseShared(what: string, values: readonly string[]): void {
  const twice = values.find((value, at) => values.indexOf(value) < at);
  if (twice !== undefined) throw unclear(`two configurations have the ${what} ${twice}`, 'Give each one of its own.');
}

function unclear(because: string, hint: string): Failure {
  return new Failure('USAGE_INVALID', `The accounts could not be read as one: ${because}.`, { hint });
}
