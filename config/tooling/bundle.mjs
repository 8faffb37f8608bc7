/**
 * Bundles the command and the library: finding and compiling some 700 files one by one takes most of a start.
 *
 * `dist/cli.js` becomes the entry (`entry.mjs`) to `dist/bundle`, from where fixed SQL and configuration are as far as from the files they
 * come from. Beside them lie the licences of all packages that were bundled. `bundle-types.mjs` adds the types of the library.
 */
import { chmodSync, copyFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';

const dist = new URL('../../dist/', import.meta.url);
const inSource = (path) => fileURLToPath(new URL(`../../src/${path}`, import.meta.url));
const inDist = (path) => fileURLToPath(new URL(path, dist));
const stringWidth = fileURLToPath(import.meta.resolve('string-width'));
const inUndici = (path) => fileURLToPath(import.meta.resolve(`undici/lib/${path}`));

const bundle = await rolldown({
  input: {
    cli: inSource('cli.ts'),
    index: inSource('index.ts'),
    'reading-thread': inSource('extract/columns/reading-thread.ts'),
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
const { output } = await bundle.write({
  dir: inDist('bundle'),
  format: 'esm',
  entryFileNames: '[name].js',
  chunkFileNames: '[name].js',
  cleanDir: true,
});

const folders = new Set(
  output
    .flatMap(({ moduleIds = [] }) => moduleIds)
    .flatMap((id) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id)?.[0] ?? []),
);
const licences = [...folders].map((folder) => {
  const { name, version, license } = JSON.parse(readFileSync(`${folder}/package.json`, 'utf8'));
  const files = readdirSync(folder).filter((entry) => /^(licen[cs]e|notice)(\.\w+)?$/i.test(entry));
  const texts = files.map((file) => readFileSync(`${folder}/${file}`, 'utf8').trim());
  return [`${name} ${version}, ${license}`, ...texts].join('\n\n');
});
const separator = `\n\n${'-'.repeat(80)}\n\n`;
const unique = [...new Set(licences)].sort();
writeFileSync(inDist('bundle/THIRD-PARTY-LICENSES'), `${unique.join(separator)}\n`);

copyFileSync(new URL('entry.mjs', import.meta.url), inDist('cli.js'));
// npm marks a package's `bin` executable when it is installed from a registry, not in a clone.
chmodSync(inDist('cli.js'), 0o755);
