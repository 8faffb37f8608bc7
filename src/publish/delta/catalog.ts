/** The views of `catalog.duckdb` over Delta tables: the files of one version each, so that a session sees one night. Pure. */

import { join } from 'node:path';

import { identifier } from '../../warehouse/sql.ts';
import { catalogView, dateInPath, finalView } from '../lake-sql.ts';
import type { LakeColumn, LakeTable } from '../lake-table.ts';
import { isInstant, readFiles } from './delta-table.ts';
import type { Table } from './log.ts';

/** The statements of a catalog over tables below a root. */
export function deltaCatalog(
  root: string,
  tables: readonly { readonly table: LakeTable; readonly now: Table }[],
): string[] {
  const plain = tables.flatMap(({ table, now }) => {
    const files = [...now.files.keys()].map((path) => join(root, table.name, decodeURIComponent(path)));
    return catalogView(table, 'main', files.length === 0 ? null : rowsOf(table, files));
  });
  const final = tables.filter(({ table }) => table.metrics.length > 0).flatMap(({ table }) => finalView(table));
  return [...plain, ...final];
}

function rowsOf(table: LakeTable, files: readonly string[]): string {
  const { columns, key } = table;
  const cell = (column: LakeColumn): string => {
    const name = identifier(column.name);
    if (column.name === key) return `cast(${dateInPath(table)} as ${column.type}) as ${name}`;
    return isInstant(column) ? `timezone('UTC', ${name}) as ${name}` : name;
  };
  return `select\n    ${columns.map(cell).join(',\n    ')}\nfrom ${readFiles(table, files)}`;
}
