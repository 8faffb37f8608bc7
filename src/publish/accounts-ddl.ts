/** Statements that read several accounts, each with its own configuration and warehouse, as one: union views of slices. */

import type { Config } from '../config/config.ts';
import { Failure } from '../errors.ts';
import { lakeDdl, schemaName, type DescribedLake } from './ddl.ts';
import { engineText, queryWords } from './engine-text.ts';
import type { Engine } from './engines.ts';
import { isOfSlice, type LakeTable } from './lake-table.ts';
import { sliceViews } from './slice-views.ts';

/** What one configuration publishes. */
export interface AccountLakes extends Pick<Config, 'name' | 'file' | 'warehouse'> {
  readonly lakes: readonly DescribedLake[];
}

interface Account {
  readonly account: string;
  readonly warehouse: string;
  readonly lake: DescribedLake;
}

const accountColumn = { name: 'account', type: 'VARCHAR', comment: 'Name of the account' };

/**
 * Returns statements for the Delta tables of every account, a schema each, and for union views with a column `account` in one
 * more. Throws `USAGE_INVALID` if an account has no name or no Delta tables, or two have one name, warehouse or place.
 */
export function accountsDdl(engine: Engine, configured: readonly AccountLakes[]): string {
  const schemas = new Set<string>();
  const accounts = configured.map(({ name: account, file, warehouse, lakes }): Account => {
    const lake = lakes.find(({ isDelta }) => isDelta);
    if (account === undefined)
      throw unclear(`${file} has no name`, 'State name: in each configuration.');
    if (lake === undefined)
      throw unclear(`${file} publishes no Delta tables`, 'Add a delta target to publish.');
    return { account, warehouse, lake: { ...lake, schema: schemaName(lake.root, schemas) } };
  });
  const identities = accounts.flatMap(({ account, warehouse, lake }) => [
    `the name ${account}`,
    `the warehouse ${warehouse}`,
    `the place of Delta tables ${lake.root}`,
  ]);
  const twice = identities.find((each, at) => identities.indexOf(each) < at);
  if (twice !== undefined)
    throw unclear(`two configurations have ${twice}`, 'Give each one of its own.');
  const [first] = accounts;
  if (first === undefined) return '';
  const union = { ...first.lake, schema: schemaName('accounts', schemas), night: null };
  const names = accounts.map(({ account }) => account).join(', ');
  const heading = [
    `-- The accounts ${names} as one, in the schema ${union.schema}: views with a column account.`,
  ];
  const views: string[] = [];
  for (const slice of new Set(
    accounts.flatMap(({ lake }) => lake.tables.filter(isOfSlice).map(({ name }) => name)),
  )) {
    const tables = accounts.map(({ lake }) =>
      lake.tables.find((table) => table.name === slice && isOfSlice(table)),
    );
    const [model] = tables;
    const other = accounts.find((_, at) => shapeOf(tables[at]) !== shapeOf(model));
    if (model === undefined || other !== undefined) {
      const both = `${first.account} and ${(other ?? first).account}`;
      heading.push(`-- ${slice} has no view: its columns or their types differ between ${both}`);
      continue;
    }
    for (const relation of [model, ...sliceViews(model, queryWords(engine, union))]) {
      const rows = accounts.map(({ account, lake }) => {
        // The accounts' views already show one night.
        const { from, column, text } = queryWords(
          engine,
          relation === model ? lake : { ...lake, night: null },
        );
        const cells = relation.columns.map(({ name }) => `, ${column(name)}`).join('');
        return `select ${text(account)} as ${column(accountColumn.name)}${cells}\nfrom ${from(relation.name)}`;
      });
      const { name, comment } = relation;
      const columns = [accountColumn, ...relation.columns];
      views.push(
        engineText(engine, 'view', union, {
          name,
          comment,
          columns,
          rows: rows.join('\nunion all\n'),
        }),
      );
    }
  }
  const each = accounts.map(({ lake }) => lakeDdl(engine, lake));
  return `${[...each, heading.join('\n'), engineText(engine, 'lake', union), ...views].join('\n\n')}\n`;
}

/** What must be equal in every account for a slice to have a union view. */
const shapeOf = (table: LakeTable | undefined): string =>
  JSON.stringify(
    [table?.columns, table?.cohorts?.columns].map((columns) =>
      columns?.map(({ name, type }) => [name, type]),
    ),
  );

function unclear(because: string, hint: string): Failure {
  return new Failure('USAGE_INVALID', `The accounts could not be read as one: ${because}.`, {
    hint,
  });
}
