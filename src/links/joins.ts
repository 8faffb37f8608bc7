/**
 * The way from report rows to partners and links, as views: `<slice>_links` per slice, `ripen.unmatched_rows` over all.
 *
 * Views hold column names, so they are made again whenever a slice's table may have changed.
 */

import * as z from 'zod';

import { commentOn, declare, lastSaid } from '../warehouse/declaring.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { isJoinable, joinedColumns, joinedView, linksView, unmatchedView } from './joins-sql.ts';
import { readLiveSlices, type LiveSlice } from './live-slices.ts';

/**
 * Brings the views up to the live tables, in one transaction; returns the names of the views in schema `main`. A slice
 * that is named like another one's view keeps its name, and the other has no view.
 */
export async function refreshJoins(warehouse: Warehouse): Promise<readonly string[]> {
  const slices = await readLiveSlices(warehouse);
  const names = new Set(slices.map(({ slice }) => slice));
  const free = slices.filter(({ slice }) => !names.has(`${slice}_links`));
  const joinable = free.filter((slice) => isJoinable(slice));
  const said = await lastSaid(
    warehouse,
    joinable.map(({ slice }) => `slice ${slice}`),
  );
  const views = joinable.map((slice) => linksView(slice));
  const unmatched = unmatchedView(joinable);
  await warehouse.transact(() =>
    declare(warehouse, {
      name: 'joins',
      slice: null,
      from: [...free.map(({ slice }) => slice), ...views, ...said, unmatched, ...texts],
      relations: ['ripen.unmatched_rows', ...free.map(({ slice }) => `main.${slice}_links`)],
      statements: async () => {
        const comments = await Promise.all(joinable.map((slice) => commentsOn(warehouse, slice)));
        return [
          ...free.map(({ slice }) => `drop view if exists ${joinedView(slice)}`),
          ...views,
          ...comments.flat(),
          unmatched,
          ...commentOn('view', 'ripen.unmatched_rows', unmatchedComment, unmatchedColumns),
        ];
      },
    }),
  );
  return joinable.map(({ slice }) => `${slice}_links`);
}

async function commentsOn(warehouse: Warehouse, { slice }: LiveSlice): Promise<string[]> {
  const text = `Rows of ${slice} with the link and the partner each belongs to; never more rows than ${slice} has.`;
  const own = await warehouse.rows(
    `select column_name, comment from duckdb_columns()
     where database_name = current_database() and schema_name = 'main' and table_name = $1 and comment is not null`,
    [slice],
    ownComment,
  );
  const ofTable = own.map(({ column_name: name, comment }) => [name, comment] as const);
  return commentOn('view', joinedView(slice), text, [...ofTable, ...joinedColumns]);
}

const ownComment = z.object({ column_name: z.string(), comment: z.string() });

const unmatchedComment = 'Per slice, app and network: how many rows found no link; organic rows never have one';

const unmatchedColumns: readonly (readonly [string, string])[] = [
  ['slice', 'The slice'],
  ['app_token', 'The app; NULL in a slice without it'],
  ['network', 'The network as reported; NULL in a slice without it'],
  ['rows', 'Rows of the slice'],
  ['unmatched_rows', 'Rows that found no link, or in a slice without networks no partner'],
  ['unmatched_share', 'The second as a share of the first, from 0 to 1'],
];

/** What the comments are made from beside the tables. */
const texts = [unmatchedComment, ...[...unmatchedColumns, ...joinedColumns].flat()];
