/**
 * Bundles the command: finding and compiling some 700 files one by one takes most of a start.
 *
 * `dist/cli.js` becomes an entry to `dist/bundle`, from where fixed SQL and configuration are as far as from the files they
 * come from. The library beside it stays in its own files. Beside the bundled files lies the code that V8 made of them in
 * nights of a simulated account: to compile what a start needs takes a sixth of it.
 */
import { execFileSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';

const dist = new URL('../../dist/', import.meta.url);
const inDist = (path) => fileURLToPath(new URL(path, dist));
const stringWidth = fileURLToPath(import.meta.resolve('string-width'));
const inUndici = (path) => fileURLToPath(import.meta.resolve(`undici/lib/${path}`));
const here = (path) => fileURLToPath(new URL(path, import.meta.url));

const bundle = await rolldown({
  input: { cli: inDist('cli.js'), 'reading-thread': inDist('spool/columns/reading-thread.js') },
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
  // Of yargs, for configurations that extend others.
  transform: { define: { 'import.meta.resolve': 'undefined' } },
});
// Of another form no compiled code can be kept.
await bundle.write({
  dir: inDist('bundle'),
  format: 'cjs',
  dynamicImportInCjs: false,
  entryFileNames: '[name].js',
  chunkFileNames: '[name].js',
  cleanDir: true,
});
writeFileSync(inDist('bundle/package.json'), '{ "type": "commonjs" }\n');
copyFileSync(here('load-bundle.mjs'), inDist('cli.js'));
// npm marks a package's `bin` executable when it is installed from a registry, not in a clone.
chmodSync(inDist('cli.js'), 0o755);

const account = mkdtempSync(join(tmpdir(), 'ripen-build-'));
try {
  writeFileSync(
    join(account, 'ripen.yaml'),
    `service: { simulator: { seed: 1 } }
warehouse: warehouse.duckdb
slices:
  - name: network_daily
    dimensions: [day, network]
    metrics: [installs, cost, all_revenue_total_d30]
    date_period: 2024-11-01:yesterday
`,
  );
  const record = (...words) =>
    execFileSync(process.execPath, ['--import', here('record-code.mjs'), inDist('cli.js'), ...words], {
      cwd: account,
      stdio: ['ignore', 'ignore', 'inherit'],
    });
  const [night, next] = ['2025-01-01T05:00:00Z', '2025-01-02T05:00:00Z'];
  record('--help');
  record('sync', '--as-of', night, '--quiet');
  record('plan', '--as-of', next);
  record('status', '--as-of', next);
  record('sync', '--as-of', next, '--quiet');
} finally {
  rmSync(account, { recursive: true });
}
