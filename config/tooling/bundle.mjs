/**
 * Bundles the command and the library: finding and compiling some 700 files one by one takes most of a start.
 *
 * `dist/cli.js` becomes the entry (`entry.mjs`) to `dist/bundle`, from where fixed SQL and configuration are as far as from the files they
 * come from. Of the files compiled one by one, only their types are packed.
 */
import { chmodSync, copyFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';

const dist = new URL('../../dist/', import.meta.url);
const inDist = (path) => fileURLToPath(new URL(path, dist));
const stringWidth = fileURLToPath(import.meta.resolve('string-width'));
const inUndici = (path) => fileURLToPath(import.meta.resolve(`undici/lib/${path}`));

const bundle = await rolldown({
  input: {
    cli: inDist('cli.js'),
    index: inDist('index.js'),
    'reading-thread': inDist('extract/columns/reading-thread.js'),
  },
  platform: 'node',
  plugins: [
    {
      // A third of its modules, of which nothing else is used: to load them all takes three times as long.
      name: 'undici',
      resolveId: (id) => (id === 'undici' ? '\0undici' : null),
      load: (id) =>
        id === '\0undici'
          ? `
import Dispatcher from ${JSON.stringify(inUndici('dispatcher/dispatcher.js'))};
import api from ${JSON.stringify(inUndici('api/index.js'))};
Object.assign(Dispatcher.prototype, api);
export { default as Agent } from ${JSON.stringify(inUndici('dispatcher/agent.js'))};
export { default as EnvHttpProxyAgent } from ${JSON.stringify(inUndici('dispatcher/env-http-proxy-agent.js'))};
export { default as Pool } from ${JSON.stringify(inUndici('dispatcher/pool.js'))};`
          : null,
    },
    {
      // One version, not that of yargs besides, and only for a text that needs it: its tables of characters take long to make.
      name: 'string-width',
      resolveId: (id) => (id === 'string-width' ? '\0string-width' : null),
      load: (id) =>
        id === '\0string-width'
          ? `export default (text) => (/^[ -~…]*$/.test(text) ? text.length : require(${JSON.stringify(stringWidth)}).default(text));`
          : null,
    },
  ],
  // What is native or optional stays where it was installed.
  external: [/^@duckdb\/node-bindings/, /^@aws-sdk\//, /^s3rver$/],
});
await bundle.write({
  dir: inDist('bundle'),
  format: 'esm',
  entryFileNames: '[name].js',
  chunkFileNames: '[name].js',
  cleanDir: true,
});
copyFileSync(new URL('entry.mjs', import.meta.url), inDist('cli.js'));
// npm marks a package's `bin` executable when it is installed from a registry, not in a clone.
chmodSync(inDist('cli.js'), 0o755);
