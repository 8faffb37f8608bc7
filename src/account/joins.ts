/** The views `<slice>_links` from report rows to partners and links. */

import { commentOn, declare, declaredHashes, type Declaration } from '../warehouse/declarations.ts';
import { namesCollide, relationsIn } from '../warehouse/relations.ts';
import { identifier } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { linkedRows } from './linked-rows.ts';
import { namesLinks, namesPartners, readSliceTables } from './stored-slices.ts';

/** Updates the views. A slice keeps the name of another one's view, which then has none. */
export async function refreshJoins(warehouse: Warehouse): Promise<void> {
  const slices = (await readSliceTables(warehouse)).filter(({ isLive }) => isLive);
  const names = new Set(slices.map(({ slice }) => slice));
  const free = slices.filter(({ slice }) => !names.has(`${slice}_links`));
  const joinable = free.filter(
    (slice) =>
      (namesLinks(slice) || namesPartners(slice)) && !namesCollide(slice.columns, joinedColumns),
  );
  const declarations = joinable.map(({ slice }) => `slice ${slice}`);
  const declared = await declaredHashes(warehouse, declarations);
  const views = joinable.map(
    (slice) => `create or replace view ${joinedView(slice.slice)} as\n${linkedRows(slice)}`,
  );
  const joins: Declaration = {
    name: 'joins',
    slice: null,
    inputs: [...free.map(({ slice }) => slice), ...views, ...declared, ...joinedColumns.flat()],
    relations: free.map(({ slice }) => `main.${slice}_links`),
    statements: async () => {
      const tables = await relationsIn(warehouse, 'main');
      return [
        ...free.map(({ slice }) => `drop view if exists ${joinedView(slice)}`),
        ...views,
        ...joinable.flatMap(({ slice }) => {
          const text = `Rows of ${slice} with the link and the partner each belongs to; never more rows than ${slice} has.`;
          const comments = new Map(joinedColumns);
          for (const { name, comment } of tables.get(slice)?.columns ?? [])
            if (comment !== null) comments.set(name, comment);
          return commentOn('view', joinedView(slice), text, comments);
        }),
      ];
    },
  };
  await warehouse.transact(async () => declare(warehouse, [joins]));
}

const joinedColumns: readonly (readonly [name: string, comment: string])[] = [
  ['link_token', 'The link the row belongs to; NULL when none or more than one fits'],
  ['link_level', 'Level of that link: 1 network, 2 campaign, 3 ad group, 4 creative'],
  ['link_name', 'Name of that link in the version that fits the period of the row'],
  ['network_name', 'Label of the network in the path of that link'],
  ['campaign_name', 'Label of the campaign in the path of that link'],
  ['adgroup_name', 'Label of the ad group in the path of that link'],
  ['creative_name', 'Label of the creative in the path of that link'],
  ['matched_partner_id', 'The partner the row names, else the one of its link'],
  ['matched_partner_name', 'Name of that partner now'],
  ['is_matched', 'Whether the row found its link; in a slice without networks, its partner'],
];

const joinedView = (slice: string): string => `main.${identifier(`${slice}_links`)}`;
