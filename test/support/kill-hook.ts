/**
 * Kills a run of the command line from within, right before one of its steps.
 *
 * Hides how: a module that Node loads before the command line, which numbers the statements it runs and what it does to
 * files: makes, writes, makes durable, puts in place or removes them.
 */

import { readFile, writeFile } from 'node:fs/promises';

import * as z from 'zod';

/** What every statement goes through: the command line holds the rest of the engine's client in its own files. */
const bindings = new URL('../../node_modules/@duckdb/node-bindings/duckdb.js', import.meta.url)
  .href;

const HOOK = `
import fs from 'node:fs';
import { createRequire, syncBuiltinESMExports } from 'node:module';

const { KILL_BEFORE_STEP, STEPS_FILE } = process.env;

// Before what only looks there is nothing to be killed in the middle of.
const looks = /^(select|with|set|begin|from)\\b/;
const kinds = [];

function number(target, method, kindOf) {
  const original = target[method];
  target[method] = function (...given) {
    const kind = kindOf(given);
    if (!looks.test(kind)) kinds.push(kind);
    if (String(kinds.length) === KILL_BEFORE_STEP) process.kill(process.pid, 'SIGKILL');
    return original.apply(this, given);
  };
}

// The first words without comments: what is done to which table, whatever the window.
function kindOfStatement(sql) {
  const words = sql.replaceAll(/^\\s*--.*$/gm, ' ').trim().split(/[\\s(]+/);
  return words.slice(0, words[0] === 'comment' ? 2 : 3).join(' ');
}

// The process that copies a database inherits the environment.
if (process.argv[1]?.endsWith('cli.js')) {
  const handle = await fs.promises.open(process.argv[1]);
  number(Object.getPrototypeOf(handle), 'write', () => 'write');
  await handle.close();
  // What the addon exports cannot be changed: a copy takes its place.
  const require = createRequire(${JSON.stringify(bindings)});
  const addon = require('./duckdb.js');
  const copy = Object.fromEntries(Object.getOwnPropertyNames(addon).map((name) => [name, addon[name]]));
  number(copy, 'query', ([, sql]) => kindOfStatement(sql));
  // One that stays prepared is a step each time it runs.
  const texts = new WeakMap();
  copy.prepare = async (connection, sql) => {
    const prepared = await addon.prepare(connection, sql);
    texts.set(prepared, sql);
    return prepared;
  };
  number(copy, 'execute_prepared', ([prepared]) => kindOfStatement(texts.get(prepared) ?? ''));
  require.cache[require.resolve('./duckdb.js')].exports = copy;
  for (const method of ['chmod', 'mkdir', 'open', 'rename', 'rm', 'rmdir', 'writeFile'])
    number(fs.promises, method, () => method);
  for (const method of ['chmod', 'link', 'mkdir', 'open', 'rm', 'writeFile'])
    number(fs, method + 'Sync', () => method);
  number(fs, 'fsync', () => 'fsync');
  syncBuiltinESMExports();
  if (STEPS_FILE !== undefined) process.on('exit', () => fs.writeFileSync(STEPS_FILE, JSON.stringify(kinds)));
}
`;

export interface KillHook {
  /** The environment under which a run tells the kinds of its steps when it ends. */
  readonly recording: Readonly<Record<string, string>>;
  /** The environment under which a run is killed by SIGKILL right before a step, numbered from 1. */
  killingBefore(step: number): Readonly<Record<string, string>>;
  /** The kinds of the steps of the last recorded run, in order. */
  recorded(): Promise<string[]>;
}

/** Writes the hook's files under names that begin with a path. */
export async function writeKillHook(path: string): Promise<KillHook> {
  const [module, stepsFile] = [`${path}-hook.mjs`, `${path}-steps.json`];
  await writeFile(module, HOOK);
  const loading = { NODE_OPTIONS: `--import file://${module}` };
  return {
    recording: { ...loading, STEPS_FILE: stepsFile },
    killingBefore: (step) => ({ ...loading, KILL_BEFORE_STEP: String(step) }),
    async recorded() {
      const kinds = z.array(z.string()).parse(JSON.parse(await readFile(stepsFile, 'utf8')));
      if (!kinds.includes('commit')) throw new Error('the hook saw no statement of the run');
      return kinds;
    },
  };
}
