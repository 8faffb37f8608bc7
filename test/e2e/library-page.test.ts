/** The page of the library, compiled and run as it stands: its examples, one after the other, call every verb of the built package. */

import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { afterAll, beforeAll, expect, test } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const compiler = join(root, 'node_modules/typescript/bin/tsc');
const compilerOptions = {
  strict: true,
  target: 'es2023',
  module: 'nodenext',
  types: ['node'],
  typeRoots: [join(root, 'node_modules/@types')],
};
let directory = '';

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'ripen-page-'));
  await mkdir(join(directory, 'node_modules'));
  await symlink(root, join(directory, 'node_modules', 'ripen'));
  await writeFile(
    join(directory, 'spend.csv'),
    'cost_id,cost_type,cost_currency,cost_amount,tag\nnetwork-2026-02-14-1,cpi,USD,1.25,summer\nshort,cpi,USD,1,summer\n',
  );
});

afterAll(async () => {
  await rm(directory, { recursive: true });
});

test('the examples of the library compile as strict, and print in their order what each verb came to', async () => {
  const page = await readFile(join(root, 'docs/library.md'), 'utf8');
  const examples = [...page.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(([, code = '']) => code);
  await writeFile(join(directory, 'examples.mts'), examples.join('\n'));
  await writeFile(
    join(directory, 'tsconfig.json'),
    JSON.stringify({ compilerOptions, files: ['examples.mts'] }),
  );
  const run = promisify(execFile);
  const compiled = run(process.execPath, [compiler, '-p', '.'], { cwd: directory });
  expect(await compiled.catch((error: unknown) => error)).toMatchObject({ stdout: '' });
  const { stdout } = await run(process.execPath, ['examples.mjs'], { cwd: directory });
  expect(stdout.trim().split('\n')).toStrictEqual([
    'first files 4',
    'errors 0',
    'understood true',
    'requests due true',
    'sync succeeded',
    'backfill 1',
    'replay USAGE_INVALID',
    'status well true',
    'published duckdb,delta 0',
    'views true',
    'sources true',
    'exported true',
    'would drop 10',
    'dropped 10',
    'partners true',
    'links 1 true',
    'created Summer true',
    'updated true',
    'spend 1 1',
    'simulator 127.0.0.1 2026-02-15T02:30:00.000Z',
    'nights succeeded,succeeded',
  ]);
});

test('every value that the types declare exists', async () => {
  const types = await readFile(join(root, 'dist/index.d.ts'), 'utf8');
  const exported = /^export \{ (.*) \};$/m.exec(types)?.[1]?.split(', ') ?? [];
  const declared = [...types.matchAll(/^declare (?:const|function|class) (\w+)/gm)]
    .map(([, name = '']) => name)
    .filter((name) => exported.includes(name));
  expect(declared).toContain('sync');
  const library: unknown = await import(join(root, 'dist/bundle/index.js'));
  expect(Object.keys(Object(library))).toEqual(expect.arrayContaining(declared));
});
