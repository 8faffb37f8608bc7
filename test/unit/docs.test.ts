/** The pages that people read: the files they name and link to exist, and no fault or name of the interface lacks a line. */

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { expect, test } from 'vitest';

import { parameterNames } from '../../src/config/report-settings.ts';
import { catalogFilters, catalogSections } from '../../src/model/catalog.ts';
import { dimensionFilters, dimensions, metricFilters } from '../../src/model/dimension.ts';
import { requiredColumns } from '../../src/spend/rules.ts';

const FAULTS = 51;

const root = new URL('../../', import.meta.url);
const textOf = (page: string): string => readFileSync(new URL(page, root), 'utf8');
const isThere = (path: string, from: string): boolean => existsSync(fileURLToPath(new URL(path, new URL(from, root))));

const pages = readdirSync(root)
  .filter((name) => name.endsWith('.md'))
  .concat(
    readdirSync(new URL('docs/', root), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.md'))
      .map((name) => `docs/${name}`),
  );

test.each(pages)('every relative link of %s leads to a file', (page) => {
  const links = [...textOf(page).matchAll(/\]\((?![a-z]+:|#)([^)#\s]+)/g)].map(([, target = '']) => target);
  expect(links.filter((target) => !isThere(target, page))).toStrictEqual([]);
});

test.each(pages)('every link of %s to a heading leads to one', (page) => {
  const links = [...textOf(page).matchAll(/\]\(([^)#:\s]*)#([^)]+)\)/g)];
  const lost = links.filter(([, path = '', anchor = '']) => {
    const target = path === '' ? page : fileURLToPath(new URL(path, new URL(page, root)));
    const text = readFileSync(new URL(target, root), 'utf8');
    return ![...text.matchAll(/^#+ (.+)$/gm)].some(([, heading = '']) => anchorOf(heading) === anchor);
  });
  expect(lost.map(([link]) => link)).toStrictEqual([]);
});

const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\w -]/g, '')
    .replaceAll(' ', '-');

test('every test file that a page names exists', () => {
  const named = pages.flatMap((page) =>
    [...textOf(page).matchAll(/`(?:test\/)?((?:unit|property|integration|fault|e2e|bench)\/[\w-]+)(?:\.\w+)*`/g)].map(
      ([, name = '']) => name,
    ),
  );
  expect(named.length).toBeGreaterThan(200);
  const missing = named.filter(
    (name) => !isThere(`test/${name}.${name.startsWith('bench/') ? 'bench' : 'test'}.ts`, '.'),
  );
  expect(missing).toStrictEqual([]);
});

test('every file of the repository that a page names exists', () => {
  const paths = (page: string, form: RegExp): string[] => [...textOf(page).matchAll(form)].map(([, path = '']) => path);
  const named = [
    ...pages
      .filter((page) => !/CHANGELOG|mutation/.test(page))
      .flatMap((page) => paths(page, /`((?:src|test|config|docs|sql)\/[\w./-]+\.\w+)`/g))
      // The page of the architecture names files by their rooms, of which one is called so too.
      .filter((path) => path !== 'config/read-config.ts' && path !== 'config/secret.ts'),
    ...paths('docs/internals/architecture.md', /`((?:[a-z]+\/)?[a-z-]+\.ts)`/g).map((path) => `src/${path}`),
  ];
  expect(named.length).toBeGreaterThan(40);
  expect(named.filter((path) => !isThere(path, '.'))).toStrictEqual([]);
});

test('every room of src has a line on the page of the architecture', () => {
  const rooms = readdirSync(new URL('src/', root), { withFileTypes: true }).filter((entry) => entry.isDirectory());
  const page = textOf('docs/internals/architecture.md');
  expect(rooms.filter(({ name }) => !page.includes(`| \`${name}\` `)).map(({ name }) => name)).toStrictEqual([]);
});

test('each of the faults 1 to 51 has one line, which names a test file or says that there is none', () => {
  const lines = textOf('docs/internals/faults.md').split('\n');
  for (let fault = 1; fault <= FAULTS; fault += 1) {
    const own = lines.filter((line) => new RegExp(`^\\| *${fault} +\\|`).test(line));
    expect(own, `fault ${fault}`).toHaveLength(1);
    expect(own[0], `fault ${fault}`).toMatch(/\| (`\w+\/[\w-]+`(, )?|none yet)+ *\|$/);
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
