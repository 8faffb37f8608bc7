/** Holds the table of docs/internals/architecture.md: which room imports which, where each power lives, how files are named and how long. */

import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, posix } from 'node:path';
import { fileURLToPath } from 'node:url';

import { describe, expect, test } from 'vitest';
import * as z from 'zod';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** From the lowest to the highest: a room imports what stands above it in this list, and itself; never a neighbour. */
const levels: readonly (readonly string[])[] = [
  ['errors'],
  ['events'],
  ['model'],
  ['config'],
  ['service', 'warehouse'],
  ['extract', 'warehouse/tables'],
  ['plan', 'load', 'publish', 'insight', 'report/status'],
  // Partners, links and the catalog go to their tables by themselves, beside the way of the reports.
  ['account'],
  ['run'],
  // sync.ts, which alone knows the order of the stages.
  ['pipeline'],
  // Words and pictures for people.
  ['report/terminal'],
  ['report/check', 'report/page', 'report'],
  // The verbs besides the runs, which have no order of stages.
  ['verbs'],
  // The library: every verb a function. The commands are words for them.
  ['index'],
  ['commands'],
  ['cli'],
];

/** Folders whose subfolders are rooms of their own. */
const divided = new Set(['report', 'warehouse']);

/** The simulator is a peer of the real service: it shares the nouns, and only who starts it may know it. */
const simulator = {
  mayImport: ['errors', 'model', 'simulator'],
  importedBy: ['index', 'run', 'simulator'],
};

/** Outside packages and powerful built-ins, and the only rooms or files that may touch them. */
const homes: Record<string, readonly string[]> = {
  undici: ['src/service/'],
  '@duckdb/node-api': ['src/warehouse/', 'src/publish/'],
  '@aws-sdk/client-s3': ['src/publish/places/s3.ts'],
  'brace-expansion': ['src/config/settings-text.ts'],
  yaml: ['src/config/', 'src/publish/words/dbt.ts'],
  yargs: ['src/cli.ts', 'src/commands/'],
  'string-width': ['src/report/terminal/table.ts'],
  'date-fns': ['src/model/calendar.ts'],
  '@date-fns/utc': ['src/model/calendar.ts'],
  'node:http': ['src/simulator/'],
  'node:https': [],
  'node:net': [],
  'node:worker_threads': ['src/extract/columns/'],
};

/** Files that touch `process`, and what of it; everything else gets argv, environment, streams and signals handed. */
const processUses: readonly { file: RegExp; what: RegExp }[] = [
  { file: /^src\/cli\.ts$/, what: /./ },
  { file: /^src\/commands\//, what: /./ },
  // The ledger of runs says which process wrote it.
  { file: /^src\/warehouse\/runs\.ts$/, what: /^process\.pid$/ },
  // The same Node copies the file, in a process of its own.
  { file: /^src\/publish\/formats\/snapshot\.ts$/, what: /^process\.execPath$/ },
];

/** Rooms whose functions depend on their arguments alone: no clock, no chance, no file, no socket. */
const pureRooms = new Set(['model', 'plan']);
/** Reads `config/metrics.csv`, which is as constant as code, once. */
const metricTable = 'src/model/metric-forms.ts';
/** Built-ins that compute and touch nothing. */
const pureBuiltins = new Set(['node:crypto']);

/** A file hides one thing and is read whole: what is only ever read together stands together, up to what one reads at once. */
const MAX_LINES = 400;
const MAX_TEST_LINES = 500;
const SYNC_LINES = 120;

const forbiddenWords =
  /^(managers?|helpers?|utils?|common|misc|data|info|types|constants|interfaces|lib)$/;
/** `filters_data` is the service's own name of an endpoint. */
const namesOfTheService = new Set(['filters-data.ts']);

interface SourceFile {
  /** From the repository's root, with forward slashes. */
  readonly path: string;
  readonly text: string;
  /** Without comments, which may speak of anything. */
  readonly code: string;
  readonly imports: readonly Import[];
}

interface Import {
  readonly specifier: string;
  readonly isTypeOnly: boolean;
}

function filesUnder(folder: string): string[] {
  return readdirSync(`${root}/${folder}`, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) =>
      posix.join(entry.parentPath.slice(root.length).replaceAll('\\', '/'), entry.name),
    )
    .map((path) => path.replace(/^\//, ''))
    .sort();
}

const withoutComments = (text: string): string =>
  text.replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '');

function importsOf(code: string): Import[] {
  const found = code.matchAll(
    /\b(?:(import|export)\s+(type\s)?(?:[^'";]*?\sfrom\s+)?|import\(\s*)(['"])([^'"\n]+)\3/g,
  );
  return [...found].map(([, , type, , specifier = '']) => ({
    specifier,
    isTypeOnly: type !== undefined,
  }));
}

function sourceFile(path: string): SourceFile {
  const text = readFileSync(`${root}/${path}`, 'utf8');
  const code = withoutComments(text);
  return { path, text, code, imports: importsOf(code) };
}

const sources = filesUnder('src').map(sourceFile);
const tests = filesUnder('test').map(sourceFile);

const ownRoots = new Set(['errors', 'events', 'cli', 'index']);

/** The folder of `src` a file lies in; a file beside the folders stands for itself, or belongs to the pipeline. */
function roomOf(path: string): string {
  const [, first = '', second = '', ...deeper] = path.split('/');
  if (deeper.length > 0 && divided.has(first)) return `${first}/${second}`;
  if (second !== '') return first;
  const name = basename(first, '.ts');
  return ownRoots.has(name) ? name : 'pipeline';
}

const levelOf = (room: string): number => levels.findIndex((rooms) => rooms.includes(room));

function isAllowed(from: string, to: string): boolean {
  if (from === to) return true;
  if (to === 'simulator') return simulator.importedBy.includes(from);
  if (from === 'simulator') return simulator.mayImport.includes(to);
  return levelOf(to) < levelOf(from);
}

const isOwn = ({ specifier }: Import): boolean => specifier.startsWith('.');
const targetOf = (path: string, { specifier }: Import): string =>
  posix.join(dirname(path), specifier);
const packageOf = (specifier: string): string =>
  /^(?:node:[^/]+|@[^/]+\/[^/]+|[^/]+)/.exec(specifier)?.[0] ?? specifier;

const linesOf = ({ text }: SourceFile): number => text.split('\n').length - 1;

describe('imports', () => {
  test('go downward only, and no stage imports another', () => {
    const wrong = sources.flatMap(({ path, imports }) =>
      imports
        .filter(isOwn)
        .filter((each) => !isAllowed(roomOf(path), roomOf(targetOf(path, each))))
        .map((each) => `${path} imports ${targetOf(path, each)}`),
    );
    expect(wrong).toEqual([]);
  });

  test('the commands do nothing that the library cannot: of the rooms that act they know types and texts alone', () => {
    const acting = new Set([
      'service',
      'warehouse',
      'warehouse/tables',
      'extract',
      'load',
      'account',
      'run',
      'pipeline',
      'verbs',
      'report/page',
    ]);
    const reached = sources
      .filter(({ path }) => roomOf(path) === 'commands')
      .flatMap(({ path, imports }) =>
        imports
          .filter(
            (each) => isOwn(each) && !each.isTypeOnly && acting.has(roomOf(targetOf(path, each))),
          )
          .map((each) => `${path} imports ${each.specifier}`),
      );
    expect(reached).toEqual([]);
  });

  test('every folder of src is a room of the table', () => {
    const known = new Set([...levels.flat(), 'simulator']);
    const strange = [...new Set(sources.map(({ path }) => roomOf(path)))].filter(
      (room) => !known.has(room),
    );
    expect(strange).toEqual([]);
  });

  test('lead from no file back to itself, those of types neither', () => {
    const left = new Map(
      sources.map(({ path, imports }) => [
        path,
        imports.filter(isOwn).map((each) => targetOf(path, each)),
      ]),
    );
    // A file whose imports are all gone is in no circle.
    for (let free: string[] = ['']; free.length > 0;) {
      free = [...left]
        .filter(([, targets]) => targets.every((target) => !left.has(target)))
        .map(([path]) => path);
      for (const path of free) left.delete(path);
    }
    expect([...left.keys()]).toEqual([]);
  });
});

/** How many files a stranger opens to follow one ordinary window. */
const MAX_ON_THE_WAY = 25;

describe('the way of one window', () => {
  const page = readFileSync(`${root}/docs/internals/architecture.md`, 'utf8');
  const [, part = ''] = /^## The way of one window$([\s\S]*?)^## /m.exec(page) ?? [];
  const way = [...part.matchAll(/^\| `([\w/-]+\.ts)` /gm)].map(([, name = '']) => `src/${name}`);
  const targetsOf = (path: string): string[] =>
    (sources.find((source) => source.path === path)?.imports ?? [])
      .filter(isOwn)
      .map((each) => targetOf(path, each));
  const areJoined = (one: string, other = ''): boolean =>
    targetsOf(one).includes(other) || targetsOf(other).includes(one);

  test(`is told in at most ${MAX_ON_THE_WAY} files, each of which is there, once`, () => {
    const paths = new Set(sources.map(({ path }) => path));
    expect(way.length).toBeGreaterThan(15);
    expect(way.length).toBeLessThanOrEqual(MAX_ON_THE_WAY);
    expect(way.filter((path, at) => !paths.has(path) || way.indexOf(path) !== at)).toEqual([]);
  });

  test('goes from each file to one that it imports, or that imports it', () => {
    const alone = way.filter(
      (path, at) => !areJoined(path, way[at - 1]) && !areJoined(path, way[at + 1]),
    );
    expect(alone).toEqual([]);
  });
});

describe('powers', () => {
  test.each(Object.entries(homes))('%s is imported only in %j', (name, allowed) => {
    const users = sources.filter(({ imports }) =>
      imports.some(({ specifier }) => packageOf(specifier) === name),
    );
    expect(
      users
        .map(({ path }) => path)
        .filter((path) => !allowed.some((home) => path.startsWith(home))),
    ).toEqual([]);
    expect(users.length > 0, 'a home that nobody uses is a line too many').toBe(allowed.length > 0);
  });

  test('only declared packages are imported, built-ins under node:, and every dependency is, or else bundled', () => {
    const listed = z.record(z.string(), z.string());
    const { dependencies, optionalDependencies, devDependencies } = z
      .object({
        dependencies: listed,
        optionalDependencies: listed,
        devDependencies: listed,
      })
      .parse(JSON.parse(readFileSync(`${root}/package.json`, 'utf8')));
    const outside = sources
      .flatMap(({ imports }) => imports)
      .filter((each) => !isOwn(each))
      .map(({ specifier }) => packageOf(specifier));
    const packages = [...new Set(outside)].filter((name) => !name.startsWith('node:')).sort();
    const installed = Object.keys({ ...dependencies, ...optionalDependencies });
    expect(
      packages.filter((name) => !installed.includes(name) && !(name in devDependencies)),
    ).toEqual([]);
    // Named for Yarn's Plug'n'Play, which lets DuckDB load nothing that is not declared.
    const unused = installed.filter((name) => !packages.includes(name));
    expect(unused).toEqual(['@duckdb/node-bindings']);
  });

  test('process is touched by the shell, and by two files that need its id and its program', () => {
    const wrong = sources.flatMap(({ path, code }) =>
      [...code.replaceAll(/`[^`$]*`/g, '').matchAll(/\bprocess(?:\.\w+|\[)/g)]
        .map(([use]) => use)
        .filter((use) => !processUses.some(({ file, what }) => file.test(path) && what.test(use)))
        .map((use) => `${path}: ${use}`),
    );
    expect(wrong).toEqual([]);
    const importing = sources.filter(({ imports }) =>
      imports.some(({ specifier }) => specifier === 'node:process'),
    );
    expect(importing.map(({ path }) => path)).toEqual([]);
  });

  test('model and plan read no clock, no chance, no file and no socket', () => {
    const pure = sources.filter(({ path }) => pureRooms.has(roomOf(path)) && path !== metricTable);
    const impure = pure.flatMap(({ path, code, imports }) => [
      ...imports
        .filter(({ specifier }) => specifier.startsWith('node:') && !pureBuiltins.has(specifier))
        .map(({ specifier }) => `${path} imports ${specifier}`),
      ...[
        ...code.matchAll(
          /\bDate\.now\b|\bnew Date\(\)|\bMath\.random\b|\bperformance\b|\basync\b|\bfetch\(/g,
        ),
      ].map(([use]) => `${path}: ${use}`),
    ]);
    expect(pure.length).toBeGreaterThan(10);
    expect(impure).toEqual([]);
  });

  test('tables and views are changed by `alter` alone, on which what is cached of them relies', () => {
    const wrong = sources.flatMap(({ path, code }) =>
      [
        ...code.matchAll(/\.run\(\s*[`'](?:create(?! (?:or replace )?temp)|drop|alter|comment) /g),
      ].map(([use]) => `${path}: ${use}`),
    );
    expect(wrong).toEqual([]);
    expect(sources.filter(({ code }) => code.includes('.alter(')).length).toBeGreaterThan(2);
  });

  test('instants are taken apart in the zone of the host nowhere', () => {
    const local =
      /\.(?:get|set)(?:FullYear|Month|Date|Day|Hours|Minutes)\(|\.to(?:LocaleDate|LocaleTime|Date|Time)String\(/;
    expect(sources.filter(({ code }) => local.test(code)).map(({ path }) => path)).toEqual([]);
  });
});

describe('files', () => {
  test(`hold at most ${MAX_LINES} lines in src and ${MAX_TEST_LINES} in test, and sync.ts fewer than ${SYNC_LINES}`, () => {
    const long = [
      ...sources.filter((file) => linesOf(file) > MAX_LINES),
      ...tests.filter((file) => linesOf(file) > MAX_TEST_LINES),
      ...sources.filter((file) => file.path === 'src/sync.ts' && linesOf(file) >= SYNC_LINES),
    ];
    expect(long.map((file) => `${file.path}: ${linesOf(file)}`)).toEqual([]);
    expect(sources.some(({ path }) => path === 'src/sync.ts')).toBe(true);
  });

  test('are named in kebab-case after a noun, without a word that says nothing', () => {
    const names = [...sources, ...tests].map(({ path }) => path);
    const wrong = names.filter((path) => {
      const name = basename(path);
      const words = name.replace(/(\.(test|bench|fuzz))?\.ts$/, '').split('-');
      if (namesOfTheService.has(name)) return false;
      return (
        !/^[a-z0-9]+(-[a-z0-9]+)*(\.(test|bench|fuzz))?\.ts$/.test(name) ||
        words.some((word) => forbiddenWords.test(word))
      );
    });
    expect(wrong).toEqual([]);
  });

  test('of src begin with a docstring that says what they hide and promise', () => {
    const silent = sources.filter(({ text }) => !/^(#!.*\n+)?\/\*\*\s/.test(text));
    expect(silent.map(({ path }) => path)).toEqual([]);
  });

  test('export no two types of one name', () => {
    const names = sources.flatMap(({ path, text }) =>
      [...text.matchAll(/^export (?:interface|type|class) (\w+)/gm)].map(([, name = '']) => ({
        name,
        path,
      })),
    );
    const first = new Map(names.toReversed().map(({ name, path }) => [name, path]));
    expect(names.filter(({ name, path }) => first.get(name) !== path)).toEqual([]);
  });

  test('leave no unfinished word behind, and ask no checker to look away', () => {
    const marks = /\b(TODO|FIXME|HACK)\b|@ts-(ignore|nocheck|expect-error)|(eslint|oxlint)-disable/;
    const others = tests.filter(({ path }) => path !== 'test/unit/architecture.test.ts');
    expect(
      [...sources, ...others].filter(({ text }) => marks.test(text)).map(({ path }) => path),
    ).toEqual([]);
  });
});
