/** What the front page and the guides state is what the program does: settings, commands, codes, columns, figures. */

import { readdirSync, readFileSync } from 'node:fs';

import { expect, test } from 'vitest';
import * as z from 'zod';

import { parseCommandLine } from '../../src/commands/command-line.ts';
import { commandNames } from '../../src/commands/verbs.ts';
import { parseConfig } from '../../src/config/read-config.ts';
import { exitCodes, failureCodes, warningCodes } from '../../src/errors.ts';
import * as library from '../../src/index.ts';
import { catalogTables } from '../../src/model/catalog.ts';
import { spendColumns } from '../../src/spend/spend-record.ts';

const figuresShape = z.object({
  ripen_rows: z.number(),
  lookback_rows: z.number(),
  immature_rows: z.number(),
  lookback_frozen_cells: z.number(),
  wrong_final_cells: z.number(),
});
const loadShape = z.object({ rows_per_second_1m: z.number(), times_appender_1m: z.number(), peak_mib_5m: z.number() });
const measurements = z.object({
  sections: z.object({
    maturity: z.object({ figures: figuresShape }),
    load: z.object({ figures: loadShape }),
  }),
});

const root = new URL('../../', import.meta.url);
const textOf = (page: string): string => readFileSync(new URL(page, root), 'utf8');
const readme = textOf('README.md');

/** Pages with commands of ripen and of npm. */
const pages = [
  'README.md',
  ...readdirSync(new URL('docs/', root))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
];

function blocksOf(page: string, language: string): string[] {
  const blocks = [...textOf(page).matchAll(/```(\w+)\n([\s\S]*?)```/g)];
  return blocks.filter(([, written]) => written === language).map(([, , text = '']) => text);
}

/** Command lines of ripen in the console blocks of a page, without what follows a #. */
const commandLines = pages.flatMap((page) =>
  blocksOf(page, 'console')
    .flatMap((text) => text.split('\n'))
    .flatMap((line) => [...line.matchAll(/(?:^|&& |npx )ripen ([^#&]+)/g)].map(([, words = '']) => words.trim())),
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

test('every command that can be given is on the page of operations', () => {
  const page = textOf('docs/operations.md');
  for (const name of commandNames.filter((command) => command !== 'completion')) {
    expect(page, name).toMatch(new RegExp(`\`ripen (links |spend )?${name}\\b`));
  }
});

test('every table of the catalog is named on the front page', () => {
  expect(catalogTables.filter((name) => !readme.includes(`\`${name}\``))).toStrictEqual([]);
});

test('at least 8 commands stand in console blocks', () => {
  expect(commandLines.length).toBeGreaterThanOrEqual(8);
});

test.each([...new Set(commandLines)])('ripen %s is a command as it is given', async (words) => {
  const asked = await parseCommandLine(words.split(/\s+/), '0.0.0');
  expect(asked.kind).toBe('act');
});

test('every npm script that a page names is there', () => {
  const { scripts } = z.object({ scripts: z.record(z.string(), z.string()) }).parse(JSON.parse(textOf('package.json')));
  const named = pages
    .filter((page) => page !== 'docs/bi.md')
    .flatMap((page) => [...textOf(page).matchAll(/npm run ([\w:]+)/g)].map(([, name = '']) => name));
  expect(named.length).toBeGreaterThan(8);
  expect(named.filter((name) => !Object.hasOwn(scripts, name))).toStrictEqual([]);
});

test('every exit code stands in the table of operations', () => {
  const page = textOf('docs/operations.md');
  for (const code of Object.values(exitCodes)) expect(page).toMatch(new RegExp(`^\\| ${code} +\\|`, 'm'));
});

test('every failure code stands in the page of troubleshooting, with its exit code', () => {
  const page = textOf('docs/troubleshooting.md');
  for (const [code, kind] of Object.entries(failureCodes)) {
    expect(page).toMatch(new RegExp(`^\\| \`${code}\` +\\| ${exitCodes[kind]} +\\|`, 'm'));
  }
  const named = [...page.matchAll(/^\| `([A-Z_]+)` +\| \d/gm)].map(([, code = '']) => code);
  expect(named.filter((code) => !Object.hasOwn(failureCodes, code))).toStrictEqual([]);
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
  const [csv = ''] = blocksOf('docs/spend-file.md', 'csv');
  expect(csv.split('\n')[0]).toBe(spendColumns.join(','));
  const page = textOf('docs/spend-file.md');
  for (const column of spendColumns) expect(page).toMatch(new RegExp(`^\\| \`${column}\` +\\|`, 'm'));
});

test('the figures on the front page are those the bench measured last', () => {
  const measured = measurements.parse(JSON.parse(readFileSync(new URL('docs/benchmarks.json', root), 'utf8')));
  const { maturity, load } = measured.sections;
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
    expect(readme).toContain(grouped(rows));
  }
  expect(figures.wrong_final_cells).toBe(0);
});
