import { describe, expect, test } from 'vitest';

import { catalogChanges } from '../../src/load/catalog.ts';
import { catalogComments, createCatalogTable } from '../../src/load/catalog-schema.ts';
import {
  catalogFilters,
  catalogTables,
  metricFilterNames,
  optionFilterNames,
  valueFilterNames,
  type CatalogItem,
} from '../../src/model/catalog.ts';

const item = (filter: string, id: string, change: Partial<CatalogItem> = {}): CatalogItem => ({
  filter,
  id,
  name: `Name of ${id}`,
  shortName: '',
  section: 'Conversion',
  formatting: 'integer',
  description: '',
  ...change,
});

describe('between two catalogs', () => {
  test('1 item that appeared, 1 that vanished and 5 fields that changed are 7 changes, each with both its texts', () => {
    const before = [item('overview_metrics', 'installs'), item('networks', 'Gone')];
    const after = [
      item('overview_metrics', 'installs', {
        name: 'All installs',
        shortName: 'Inst.',
        section: 'Installs',
        formatting: 'decimal',
        description: 'What was installed',
      }),
      item('networks', 'New'),
    ];
    const installs = { name: 'overview_metrics installs' };
    expect(catalogChanges(before, after)).toEqual([
      { name: 'networks New', change: 'item appeared', before: null, after: null },
      { ...installs, change: 'name changed', before: 'Name of installs', after: 'All installs' },
      { ...installs, change: 'short name changed', before: '', after: 'Inst.' },
      { ...installs, change: 'section changed', before: 'Conversion', after: 'Installs' },
      { ...installs, change: 'formatting changed', before: 'integer', after: 'decimal' },
      { ...installs, change: 'description changed', before: '', after: 'What was installed' },
      { name: 'networks Gone', change: 'item vanished', before: null, after: null },
    ]);
  });

  test('an id under 2 lists is 2 items, and one that a list holds twice counts as it stands first', () => {
    const before = [item('cost_metrics', 'cost'), item('etl_metrics', 'cost')];
    const after = [item('cost_metrics', 'cost'), item('cost_metrics', 'cost', { name: 'Other' })];
    expect(catalogChanges(before, after)).toEqual([
      { name: 'etl_metrics cost', change: 'item vanished', before: null, after: null },
    ]);
  });

  test('another order is no change', () => {
    const items = [item('apps', 'a'), item('apps', 'b')];
    expect(catalogChanges(items, items.toReversed())).toEqual([]);
  });
});

describe('the tables of the catalog', () => {
  test('take in each of the 29 lists once, but for partners, whose name the campaign API has', () => {
    const taken = [...metricFilterNames, 'dimensions', 'apps', ...valueFilterNames, ...optionFilterNames, 'partners'];
    expect(taken.toSorted()).toEqual([...catalogFilters].toSorted());
    expect(catalogFilters).toHaveLength(29);
    expect(catalogTables).not.toContain('partners');
  });

  test.each(catalogTables)('%s is made from its own lists, and commented to its last column', (name) => {
    expect(createCatalogTable(name)).toMatch(new RegExp(`^create or replace table main."${name}" as\nselect\\s`));
    const [table, ...columns] = catalogComments(name);
    expect(table).toMatch(/, from filters-data'$/);
    expect(columns.length).toBeGreaterThanOrEqual(3);
  });
});
