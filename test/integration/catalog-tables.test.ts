/** The catalog in the warehouse: its tables, and what changes between runs. */

import { beforeEach, expect, test } from 'vitest';
import * as z from 'zod';

import { storeCatalog } from '../../src/account/stored-catalog.ts';
import { catalogFilters } from '../../src/model/catalog.ts';
import type { CatalogItem } from '../../src/model/catalog-item.ts';
import type { Warehouse } from '../../src/warehouse/warehouse.ts';
import { openScratch } from '../support/scratch-warehouse.ts';

const firstNight = new Date('2026-06-01T02:30:00Z');
const secondNight = new Date('2026-06-02T02:30:00Z');

let warehouse: Warehouse;

beforeEach(async () => {
  const scratch = await openScratch();
  ({ warehouse } = scratch);
  return scratch.close;
});

const item = (filter: string, id: string, change: Partial<CatalogItem> = {}): CatalogItem => ({
  filter,
  id,
  name: `Name of ${id}`,
  shortName: '',
  section: '',
  formatting: 'integer',
  description: '',
  ...change,
});

/** One item of every list, its id telling which. */
const everyList: readonly CatalogItem[] = catalogFilters.map((filter) =>
  item(filter, `${filter}_id`),
);

const replace = (items: readonly CatalogItem[], runId: string, seenAt: Date): Promise<unknown> =>
  storeCatalog(items, seenAt, { warehouse, runId, config: { slices: [] }, emit: () => {} });

const rows = (sql: string): Promise<readonly Readonly<Record<string, unknown>>[]> =>
  warehouse.rows(sql, [], z.record(z.string(), z.unknown()));

test('what came, went and changed its name or formatting between 2 runs is recorded as schema changes of the second', async () => {
  await replace([...everyList, item('countries', 'de')], 'first', firstNight);
  expect(await rows('select * from ripen.schema_changes')).toEqual([]);
  const renamed = item('overview_metrics', 'overview_metrics_id', {
    name: "It's new",
    formatting: 'money_precise',
  });
  const others = everyList.filter(
    ({ filter }) => filter !== 'countries' && filter !== 'overview_metrics',
  );
  others.push(item('countries', 'de'));
  await replace([...others, renamed, item('store_type', 'aptoide')], 'second', secondNight);
  expect(
    await rows(
      'select run_id, object, name, change, before, after from ripen.schema_changes order by all',
    ),
  ).toEqual(
    [
      ['countries countries_id', 'item vanished', null, null],
      ['overview_metrics overview_metrics_id', 'formatting changed', 'integer', 'money_precise'],
      [
        'overview_metrics overview_metrics_id',
        'name changed',
        'Name of overview_metrics_id',
        "It's new",
      ],
      ['store_type aptoide', 'item appeared', null, null],
    ].map(([name, change, before, after]) => ({
      run_id: 'second',
      object: 'catalog',
      name,
      change,
      before,
      after,
    })),
  );
});
