/** Statements that let an engine read lakes in place, and those of several accounts as one. */

import type { Config } from '../../config/config.ts';
import { Failure } from '../../errors.ts';
import type { Warehouse } from '../../warehouse/warehouse.ts';
import { copyAt } from '../copies.ts';
import type { LakeTable } from '../tables.ts';
import { ddlRefusal, type EngineLake, engineText, queryWords, sliceViews } from './engine-text.ts';
import { engines, type Engine } from './engines.ts';

/** Returns every lake that an engine can read, each with its own schema. Throws `USAGE_INVALID` without any. */
export async function describedLakes(
  engine: Engine,
  { publish }: Pick<Config, 'publish'>,
  warehouse: Warehouse,
  signal: AbortSignal,
): Promise<EngineLake[]> {
  if (!engines.includes(engine)) {
    const hint = `Name one of ${engines.join(', ')}.`;
    throw new Failure('USAGE_INVALID', `The engine ${engine} is not known.`, { hint });
  }
  const schemas = new Set<string>();
  const lakes: EngineLake[] = [];
  const refusals: string[] = [];
  for (const target of publish) {
    const { lake } = await copyAt(target).describe(warehouse, signal);
    if (lake === null) continue;
    const refusal = ddlRefusal(engine, lake);
    if (refusal === null) lakes.push({ ...lake, schema: schemaName(lake.root, schemas) });
    else refusals.push(refusal);
  }
  if (lakes.length > 0) return lakes;
  const reason = refusals.length === 0 ? 'none is configured' : refusals.join('; ');
  throw new Failure('USAGE_INVALID', `There is no lake to describe: ${reason}.`, {
    facts: { engine },
    hint: `Add a delta target to publish where ${engine} reads, or name another engine of ${engines.join(', ')}.`,
  });
}

const takenByDuckdb = new Set(['information_schema', 'memory', 'pg_catalog', 'system', 'temp']);

/** Returns a schema name from a lake's path that needs no quotes in any engine. Adds it to `taken`. */
export function schemaName(root: string, taken: Set<string>): string {
  const last = root.split('/').findLast((step) => step !== '') ?? '';
  const word = last
    .toLowerCase()
    .replaceAll(/[^a-z0-9_]+/g, '_')
    .replace(/_+$/, '');
  const isTaken = /^(\d|$)/.test(word) || takenByDuckdb.has(word);
  const plain = isTaken ? `lake_${word}`.replace(/_$/, '') : word;
  let name = plain;
  for (let count = 2; taken.has(name); count += 1) name = `${plain}_${count}`;
  taken.add(name);
  return name;
}

export function lakeDdl(engine: Engine, lake: EngineLake): string {
  const { files, root, tables } = lake;
  const words = queryWords(engine, lake);
  const views = tables.flatMap((table) => sliceViews(table, words));
  const texts = [
    `-- How ${engine} reads the ${files} in ${root}; made by \`ripen publish --ddl ${engine}\`.
-- Make and run the statements again after a slice or its columns change.`,
    engineText(engine, 'lake', lake),
    ...tables.map((table) => engineText(engine, files, lake, table)),
    ...views.map((view) => engineText(engine, 'views', lake, view)),
  ];
  return `${texts.join('\n\n')}\n`;
}

export interface AccountLakes extends Pick<Config, 'name' | 'file' | 'warehouse'> {
  readonly lakes: readonly EngineLake[];
}

const accountColumn = { name: 'account', type: 'VARCHAR', comment: 'Name of the account' };

/**
 * Returns statements for the lakes of one account, or for the Delta tables of several and union views with a column `account`.
 * Throws `USAGE_INVALID` if one of several has no name or no Delta tables, or shares its name, warehouse or place with another.
 */
export function lakesDdl(engine: Engine, configured: readonly AccountLakes[]): string {
  if (configured.length < 2)
    return configured.flatMap(({ lakes }) => lakes.map((lake) => lakeDdl(engine, lake))).join('\n');
  const unclear = (reason: string, hint: string) =>
    new Failure('USAGE_INVALID', `The accounts could not be read as one: ${reason}.`, { hint });
  const schemas = new Set<string>();
  const accounts = configured.map(({ name, file, warehouse, lakes }) => {
    const lake = lakes.find(({ files }) => files === 'Delta tables');
    if (name === undefined)
      throw unclear(`${file} has no name`, 'Set name: in each configuration.');
    if (lake === undefined)
      throw unclear(`${file} publishes no Delta tables`, 'Add a delta target to publish.');
    return { name, warehouse, lake: { ...lake, schema: schemaName(lake.root, schemas) } };
  });
  const identities = accounts.flatMap(({ name, warehouse, lake }) => [
    `the name ${name}`,
    `the warehouse ${warehouse}`,
    `the place of Delta tables ${lake.root}`,
  ]);
  const twice = identities.find((identity, at) => identities.indexOf(identity) < at);
  if (twice !== undefined)
    throw unclear(`two configurations have ${twice}`, 'Give each one of its own.');
  const [first] = accounts;
  if (first === undefined) return '';
  const union = { ...first.lake, schema: schemaName('accounts', schemas), night: null };
  const names = accounts.map(({ name }) => name).join(', ');
  const heading = [
    `-- The accounts ${names} as one, in the schema ${union.schema}: views with a column account.`,
  ];
  const views: string[] = [];
  const tables = accounts.map(({ lake }) => lake.tables.filter(({ isOfSlice }) => isOfSlice));
  for (const slice of new Set(tables.flat().map(({ name }) => name))) {
    const models = tables.map((ofAccount) => ofAccount.find(({ name }) => name === slice));
    const [model] = models;
    const other = models.findIndex((table) => meaningOf(table) !== meaningOf(model));
    if (model === undefined || other > 0) {
      const both = `${first.name} and ${(accounts[other] ?? first).name}`;
      const difference =
        shapeOf(models[other]) === shapeOf(model)
          ? 'comments differ, as with another currency, offset or filter,'
          : 'columns or their types differ';
      heading.push(`-- ${slice} has no view: its ${difference} between ${both}`);
      continue;
    }
    for (const relation of [model, ...sliceViews(model, queryWords(engine, union))]) {
      const rows = accounts.map(({ name: account, lake }) => {
        // The accounts' views already show one night.
        const place = relation === model ? lake : { ...lake, night: null };
        const { from, column, text } = queryWords(engine, place);
        const cells = relation.columns.map(({ name }) => `, ${column(name)}`).join('');
        return `select ${text(account)} as ${column(accountColumn.name)}${cells}\nfrom ${from(relation.name)}`;
      });
      const columns = [accountColumn, ...relation.columns];
      const view = { ...relation, columns, rows: rows.join('\nunion all\n') };
      views.push(engineText(engine, 'views', union, view));
    }
  }
  const ofAccounts = accounts.map(({ lake }) => lakeDdl(engine, lake));
  const lake = engineText(engine, 'lake', union);
  return `${[...ofAccounts, heading.join('\n'), lake, ...views].join('\n\n')}\n`;
}

const shapeOf = (table: LakeTable | undefined) =>
  JSON.stringify(
    [table?.columns, table?.cohorts?.columns].map((columns) =>
      columns?.map(({ name, type }) => [name, type]),
    ),
  );

/** Comments contain what rows mean: parameters, filters, units and horizons. */
const meaningOf = (table: LakeTable | undefined) =>
  JSON.stringify([table, table?.cohorts].map((shown) => [shown?.comment, shown?.columns]));
