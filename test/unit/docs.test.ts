/** The pages that people read: what they name and link to exists, and what they state is what the program does. */

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { expect, test } from 'vitest';
import * as z from 'zod';

import { parseCommandLine } from '../../src/commands/command-line.ts';
import { commandNames } from '../../src/commands/words.ts';
import { parseConfig } from '../../src/config/read-config.ts';
import { parameterNames } from '../../src/config/report-settings.ts';
import { exitCodes, failureCodes, warningCodes } from '../../src/errors.ts';
import * as library from '../../src/index.ts';
import { day } from '../../src/model/calendar.ts';
import { catalogFilters, catalogSections, catalogTables } from '../../src/model/catalog.ts';
import { dimensionFilters, dimensions, metricFilters } from '../../src/model/dimension.ts';
import { dueReason } from '../../src/model/maturity.ts';
import { metricsOf } from '../../src/model/metric.ts';
import { requiredColumns, spendColumns } from '../../src/account/spend-rules.ts';
import { loadedPeriod, slice } from '../support/slice.ts';

const root = new URL('../../', import.meta.url);
const textOf = (page: string): string => readFileSync(new URL(page, root), 'utf8');

const FAULTS = 62;

const isThere = (path: string, from: string): boolean =>
  existsSync(fileURLToPath(new URL(path, new URL(from, root))));

const pages = ['sql/README.md', ...readdirSync(root)]
  .filter((name) => name.endsWith('.md'))
  .concat(
    readdirSync(new URL('docs/', root), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.md'))
      .map((name) => `docs/${name}`),
  );

test.each(pages)('every relative link of %s leads to a file', (page) => {
  const links = [...textOf(page).matchAll(/\]\((?![a-z]+:|#)([^)#\s]+)/g)].map(
    ([, target = '']) => target,
  );
  expect(links.filter((target) => !isThere(target, page))).toStrictEqual([]);
});

test.each(pages)('every link of %s to a heading leads to one', (page) => {
  const links = [...textOf(page).matchAll(/\]\(([^)#:\s]*)#([^)]+)\)/g)];
  const lost = links.filter(([, path = '', anchor = '']) => {
    const target = path === '' ? page : fileURLToPath(new URL(path, new URL(page, root)));
    const text = readFileSync(new URL(target, root), 'utf8');
    return ![...text.matchAll(/^#+ (.+)$/gm)].some(
      ([, heading = '']) => anchorOf(heading) === anchor,
    );
  });
  expect(lost.map(([link]) => link)).toStrictEqual([]);
});

const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\w -]/g, '')
    .replaceAll(' ', '-');

test('every file of the repository that a page names exists', () => {
  const paths = (page: string, form: RegExp): string[] =>
    [...textOf(page).matchAll(form)].map(([, path = '']) => path);
  const named = [
    ...pages
      .filter((page) => !/CHANGELOG|mutation/.test(page))
      .flatMap((page) => paths(page, /`((?:src|test|config|docs|sql)\/[\w./-]+\.\w+)`/g))
      // The page of the architecture names files by their rooms, of which one is called so too.
      .filter((path) => path !== 'config/read-config.ts' && path !== 'config/secret.ts'),
    ...paths('docs/internals/architecture.md', /`((?:[a-z]+\/)*[a-z-]+\.ts)`/g).map(
      (path) => `src/${path}`,
    ),
  ];
  expect(named.length).toBeGreaterThan(40);
  expect(named.filter((path) => !isThere(path, '.'))).toStrictEqual([]);
});

test('every room of src has a line on the page of the architecture', () => {
  const rooms = readdirSync(new URL('src/', root), { withFileTypes: true }).filter((entry) =>
    entry.isDirectory(),
  );
  const page = textOf('docs/internals/architecture.md');
  expect(
    rooms.filter(({ name }) => !page.includes(`| \`${name}\` `)).map(({ name }) => name),
  ).toStrictEqual([]);
});

test('each of the faults 1 to 62 has one line, which names test files that are there', () => {
  const lines = textOf('docs/internals/faults.md').split('\n');
  for (let fault = 1; fault <= FAULTS; fault += 1) {
    const own = lines.filter((line) => new RegExp(`^\\| *${fault} +\\|`).test(line));
    expect(own, `fault ${fault}`).toHaveLength(1);
    const [tests = ''] = own[0]?.split('|').slice(-2) ?? [];
    const named = [...tests.matchAll(/`(\w+\/[\w-]+)`/g)].map(([, name = '']) => name);
    expect(named.length, `fault ${fault}`).toBeGreaterThan(0);
    const missing = named.filter(
      (name) => !['test', 'fuzz', 'bench'].some((kind) => isThere(`test/${name}.${kind}.ts`, '.')),
    );
    expect(missing, `fault ${fault}`).toStrictEqual([]);
  }
});

test('every parameter, dimension, filter, list, section and column that the code knows is on the page of the interface', () => {
  const page = textOf('docs/internals/interface.md');
  const names = [
    ...parameterNames,
    ...dimensions,
    ...[...dimensionFilters, ...metricFilters].map((suffix) => `__${suffix}`),
    ...catalogFilters,
    ...catalogSections,
    ...requiredColumns,
  ];
  expect(names.filter((name) => !page.includes(`\`${name}\``))).toStrictEqual([]);
});

const figuresShape = z.object({
  ripen_rows: z.number(),
  lookback_rows: z.number(),
  immature_rows: z.number(),
  lookback_frozen_cells: z.number(),
  wrong_final_cells: z.number(),
});
const loadShape = z.object({
  rows_per_second_1m: z.number(),
  times_appender_1m: z.number(),
  peak_mib_5m: z.number(),
});
const measurements = z.object({
  sections: z.object({
    maturity: z.object({ figures: figuresShape }),
    load: z.object({ figures: loadShape }),
  }),
});

function blocksOf(page: string, language: string): string[] {
  const blocks = [...textOf(page).matchAll(/```(\w+)\n([\s\S]*?)```/g)];
  return blocks.filter(([, written]) => written === language).map(([, , text = '']) => text);
}

/** Command lines of ripen in the console blocks of a page, without what follows a #. */
const commandLines = pages.flatMap((page) =>
  blocksOf(page, 'console')
    .flatMap((text) => text.split('\n'))
    .flatMap((line) =>
      [...line.matchAll(/(?:^|&& |npx )ripen ([^#&]+)/g)].map(([, words = '']) => words.trim()),
    ),
);

test('the configuration on the front page parses as it stands', () => {
  const [yaml = ''] = blocksOf('README.md', 'yaml');
  const config = parseConfig(yaml, {
    file: 'ripen.yaml',
    directory: '/somewhere',
    environment: { RIPEN_TOKEN: 'a-token' },
  });
  expect(config.slices.map(({ name }) => name)).toEqual(['network_daily']);
});

test('every command that can be given is on the page of operations, and at least 6 command lines are given as examples', () => {
  expect(commandLines.length).toBeGreaterThanOrEqual(6);
  const page = textOf('docs/operations.md');
  for (const name of commandNames.filter((command) => command !== 'completion')) {
    expect(page, name).toMatch(new RegExp(`\`ripen (links |spend )?${name}\\b`));
  }
});

const examplesOf = (page: string): string[][] => blocksOf(page, 'yaml').map((yaml) => [page, yaml]);

test.each([...examplesOf('docs/configuration.md'), ...examplesOf('docs/operations.md')])(
  'an example of %s is read as it stands: %s',
  (_, yaml = '') => {
    const text = /^service:/m.test(yaml) ? yaml : `service: simulator\n${yaml}`;
    expect(() =>
      parseConfig(text, {
        file: 'ripen.yaml',
        directory: '/somewhere',
        environment: {},
        offline: true,
      }),
    ).not.toThrow();
  },
);

test('the table of refreshes is what is planned, night by night, for a day with these metrics', () => {
  const page = textOf('docs/configuration.md');
  const told = [...page.matchAll(/^\| [\d, and]+ (?:March|April) +\| ([\d, ]+?) +\|/gm)].map(
    ([, ages = '']) => ages,
  );
  const ages = told.flatMap((each) => each.split(', ').map(Number));
  const of = slice({
    name: 'daily',
    dimensions: ['day'],
    metrics: ['installs', 'cost', 'all_revenue_total_d30'],
  });
  const period = { start: day('2026-03-01'), end: day('2026-03-02') };
  const planned = [1];
  for (let age = 2; age < 200; age += 1) {
    const fetchedAt = nightAt(planned.at(-1) ?? 1);
    const held = loadedPeriod({ bucket: period, fetchedAt, metrics: of.metrics });
    const reason = dueReason(
      { bucket: period, requested: period },
      held,
      metricsOf(of, []),
      of,
      nightAt(age),
    );
    if (reason !== null) planned.push(age);
  }
  expect(ages).toStrictEqual(planned);
});

const nightAt = (age: number): Date => new Date(Date.UTC(2026, 2, 1 + age, 10, 30));

test('every table of the catalog is named on the page about reading', () => {
  const page = textOf('docs/reading.md');
  expect(catalogTables.filter((name) => !page.includes(`\`${name}\``))).toStrictEqual([]);
});

test.each([...new Set(commandLines)])('ripen %s is a command as it is given', async (words) => {
  const requested = await parseCommandLine(words.split(/\s+/), '0.0.0');
  expect(requested.kind).toBe('act');
});

test('every npm script that a page names is there', () => {
  const { scripts } = z
    .object({ scripts: z.record(z.string(), z.string()) })
    .parse(JSON.parse(textOf('package.json')));
  const named = pages
    .flatMap((page) => [...textOf(page).matchAll(/npm run ([\w:]+)/g)].map(([, name = '']) => name))
    // A script of Evidence.
    .filter((name) => name !== 'sources');
  expect(named.length).toBeGreaterThan(8);
  expect(named.filter((name) => !Object.hasOwn(scripts, name))).toStrictEqual([]);
});

test('every exit code stands in the table of operations', () => {
  const page = textOf('docs/operations.md');
  for (const code of Object.values(exitCodes))
    expect(page).toMatch(new RegExp(`^\\| (?:\\d+, )*${code}(?:, \\d+)* +\\|`, 'm'));
});

test('every failure code stands in the page of troubleshooting, with its exit code', () => {
  const [, page = ''] = textOf('docs/troubleshooting.md').split('\n## Failures\n');
  const [table = ''] = page.split('\n## ');
  const named = [...table.matchAll(/^\| (\d+) .*$/gm)].flatMap(([row, exitCode]) =>
    [...row.matchAll(/`([A-Z_]+)`/g)].map(([, code = '']) => [code, Number(exitCode)] as const),
  );
  const codes = Object.entries(failureCodes).map(([code, kind]) => [code, exitCodes[kind]]);
  const texts = (pairs: readonly (readonly unknown[])[]): string[] =>
    pairs.map((pair) => pair.join(' ')).toSorted();
  expect(texts(named)).toStrictEqual(texts(codes));
});

test('the warnings of the page of troubleshooting are those there are, in their order', () => {
  const [, table = ''] = textOf('docs/troubleshooting.md').split('\n## Warnings\n');
  const [rows = ''] = table.split('\n## ');
  const named = [...rows.matchAll(/^\| `([A-Z_]+)` +\|/gm)].map(([, code = '']) => code);
  expect(named).toStrictEqual([...warningCodes]);
});

test('every exported function of the library stands on its page, and in an example', () => {
  const page = textOf('docs/library.md');
  const examples = blocksOf('docs/library.md', 'ts').join('\n');
  const verbs = Object.entries(library).flatMap(([name, value]) =>
    typeof value === 'function' && /^[a-z]/.test(name) ? [name] : [],
  );
  expect(verbs.length).toBeGreaterThan(20);
  expect(verbs.filter((name) => !page.includes(`\`${name}(`))).toStrictEqual([]);
  const called = new Set([...examples.matchAll(/\bripen\.(\w+)\(/g)].map(([, name = '']) => name));
  expect(verbs.filter((name) => !called.has(name))).toStrictEqual(['exitCodeOf']);
});

test('the columns of ad spend are those of the example, each with its rule', () => {
  const page = textOf('docs/operations.md');
  const [csv = ''] = blocksOf('docs/operations.md', 'csv');
  expect(csv.split('\n')[0]).toBe(spendColumns.join(','));
  for (const column of spendColumns)
    expect(page).toMatch(new RegExp(`^\\| \`${column}\` +\\|`, 'm'));
});

test('the figures on the front page are those the bench measured last', () => {
  const { maturity, load } = measurements.parse(
    JSON.parse(textOf('docs/internals/benchmarks.json')),
  ).sections;
  const { figures } = maturity;
  const grouped = (count: number): string => count.toLocaleString('en-US');
  for (const rows of [
    figures.ripen_rows,
    figures.lookback_rows,
    figures.immature_rows,
    figures.lookback_frozen_cells,
    load.figures.rows_per_second_1m,
    load.figures.times_appender_1m,
    load.figures.peak_mib_5m,
  ]) {
    expect(textOf('README.md')).toContain(grouped(rows));
  }
  expect(figures.wrong_final_cells).toBe(0);
});
