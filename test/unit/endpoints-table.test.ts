import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { describe, expect, test } from 'vitest';

import { parameterNames } from '../../src/config/report-settings.ts';
import { catalogFilters, catalogSections, catalogTables } from '../../src/model/catalog.ts';
import { dimensionFilters, dimensions, metricFilters } from '../../src/model/dimension.ts';
import { requiredColumns } from '../../src/spend/spend-record.ts';
import { interfaceKinds, interfaceNames, interfaceParts } from '../support/endpoints-names.ts';
import { interfacePage, interfaceRows } from '../support/endpoints-table.ts';
import type { Proof } from '../support/faults-table.ts';

const tests = fileURLToPath(new URL('..', import.meta.url));
const page = fileURLToPath(new URL('../../docs/interface.md', import.meta.url));

const REPORT = interfaceNames['GET {reports_url}/reports-service/report'];
const FILTERS = interfaceNames['GET {reports_url}/reports-service/filters_data'];

const texts = new Map<string, string>();

function textOf(file: string): string {
  const path = `${tests}${file}`;
  const text = texts.get(file) ?? (existsSync(path) ? readFileSync(path, 'utf8') : '');
  texts.set(file, text);
  return text;
}

/** A title as it stands in the source between these quotes. */
const written = (title: string, quote: string): string => title.replaceAll(quote, `\\${quote}`);

/**
 * Whether a test speaks of a name: in its title, or somewhere in its file as a whole text, the key of an object, a place
 * in a path, the end of a filter's name, a number in a list. That a word occurs is not enough: `index` does in most files.
 */
function isNamed([file, title]: Proof, name: string): boolean {
  return name.split('.').every((word) => {
    const whole = word.startsWith('__') ? word : `(?<![A-Za-z0-9_])${word}`;
    const forms = word.startsWith('__')
      ? [`\\w${word}['"\`]`]
      : [`['"\`]${word}['"\`]`, `[\\s{]${word}:`, `(?<!\\$)\\{${word}\\}`];
    if (/^\d+$/.test(word)) forms.push(`[[ ]${word}[,\\]]`);
    return (
      new RegExp(`${whole}(?![A-Za-z0-9_])`).test(title) || forms.some((form) => new RegExp(form).test(textOf(file)))
    );
  });
}

test('every name of the interface has one row, and no row has another name', () => {
  const wanted = interfaceParts.flatMap((part) =>
    interfaceKinds.flatMap((kind) => (interfaceNames[part][kind] ?? []).map((name) => `${part}: ${kind} ${name}`)),
  );
  const had = interfaceRows.flatMap(({ part, kind, names }) => names.map((name) => `${part}: ${kind} ${name}`));
  expect(had.toSorted()).toStrictEqual(wanted.toSorted());
  expect(wanted.length).toBeGreaterThan(200);
});

test('every row is proven by tests that are in the files it names', () => {
  const lost = interfaceRows.flatMap(({ part, proofs }) =>
    proofs
      .filter(([file, title]) => {
        const text = textOf(file);
        return !['"', "'", '`'].some((quote) => text.includes(`${quote}${written(title, quote)}${quote}`));
      })
      .map(([file, title]) => `${part}: ${file}: ${title}`),
  );
  expect(lost).toStrictEqual([]);
  expect(interfaceRows.filter(({ proofs }) => proofs.length === 0)).toStrictEqual([]);
});

test('every name but those of rules is named by the first of the tests that prove it', () => {
  const unnamed = interfaceRows
    .filter(({ kind, names }) => kind !== 'rule' && !names.includes('not shown'))
    .flatMap(({ part, names, proofs: [first] }) =>
      names
        .filter((name) => first === undefined || !isNamed(first, name))
        .map((name) => `${part}: ${name} by ${first?.join(': ')}`),
    );
  expect(unnamed).toStrictEqual([]);
});

describe('what the code lists is what the interface lists:', () => {
  const sorted = (names: readonly string[] | undefined): string[] => [...(names ?? [])].toSorted();

  test('29 lists and 9 sections of filters-data', () => {
    expect(sorted(catalogFilters)).toStrictEqual(sorted(FILTERS.list));
    expect(sorted(catalogSections)).toStrictEqual(sorted(FILTERS.section));
  });

  test('34 dimensions, 8 and 6 filter suffixes', () => {
    expect(sorted(dimensions)).toStrictEqual(sorted(REPORT.dimension));
    expect(dimensionFilters.map((suffix) => `__${suffix}`)).toStrictEqual(REPORT['dimension filter']);
    expect(metricFilters.map((suffix) => `__${suffix}`)).toStrictEqual(REPORT['metric filter']);
  });

  test('18 report parameters, and a limit that only its users know of', () => {
    const own = ['dimensions', 'metrics', 'date_period', 'format_dates'];
    expect(sorted([...own, ...parameterNames])).toStrictEqual(sorted([...(REPORT.parameter ?? []), 'limit']));
  });

  test('5 fields of ad spend', () => {
    expect(sorted(requiredColumns)).toStrictEqual(sorted(interfaceNames['POST {cost_url}/cost'].parameter));
  });
});

test('every table of the catalog is named on the front page and beside its list', () => {
  for (const path of ['README.md', 'docs/endpoints.md']) {
    const text = readFileSync(fileURLToPath(new URL(`../../${path}`, import.meta.url)), 'utf8');
    expect(catalogTables.filter((name) => !text.includes(`\`${name}\``))).toStrictEqual([]);
  }
});

test('docs/interface.md says what the table says', async () => {
  await expect(interfacePage(interfaceRows)).toMatchFileSnapshot(page);
});
