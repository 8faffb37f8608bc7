#!/usr/bin/env node
/**
 * Starts the bundled command; stands as `dist/cli.js`.
 *
 * Beside each file of the bundle lies the code V8 made of it when it was built. Another version of Node, or one with other
 * flags, refuses that code and compiles the file as usual. Nothing is ever written.
 */

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { Script } from 'node:vm';

const bundle = fileURLToPath(new URL('bundle/', import.meta.url));
const installed = createRequire(bundle);
/** @type {Map<string, { exports: unknown }>} */
const modules = new Map();

/** @param {string} name */
function load(name) {
  const known = modules.get(name);
  if (known !== undefined) return known.exports;
  const module = { exports: {} };
  modules.set(name, module);
  try {
    evaluate(bundle + name, module);
  } catch (error) {
    modules.delete(name);
    throw error;
  }
  return module.exports;
}

/**
 * @param {string} filename
 * @param {{ exports: unknown }} module
 */
function evaluate(filename, module) {
  const script = new Script(
    `(function (exports, require, module, __filename, __dirname) {${readFileSync(filename, 'utf8')}\n})`,
    { filename, cachedData: codeOf(filename) },
  );
  script.runInThisContext()(module.exports, requireFrom, module, filename, bundle);
}

/** @param {string} filename */
function codeOf(filename) {
  try {
    return readFileSync(`${filename}.code`);
  } catch {
    return undefined;
  }
}

/**
 * @param {string} id
 * @returns {unknown}
 */
function requireFrom(id) {
  return id.startsWith('./') ? load(id.slice(2)) : installed(id);
}

// Awaited, so that Node tells of a command that never ends.
await load('cli.js').ended;
