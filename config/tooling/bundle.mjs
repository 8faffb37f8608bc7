/**
 * Bundles the command: finding and compiling some 700 files one by one takes most of a start.
 *
 * `dist/cli.js` becomes an entry to `dist/bundle`, from where fixed SQL and configuration are as far as from the files they
 * come from. The library beside it stays in its own files.
 */
import { chmodSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';

const dist = new URL('../../dist/', import.meta.url);
const inDist = (path) => fileURLToPath(new URL(path, dist));

const bundle = await rolldown({
  input: { cli: inDist('cli.js'), 'reading-thread': inDist('spool/columns/reading-thread.js') },
  platform: 'node',
  // The version that yargs brings takes as long to measure a page of help as yargs takes for everything else.
  resolve: { alias: { 'string-width': fileURLToPath(import.meta.resolve('string-width')) } },
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

writeFileSync(inDist('cli.js'), "#!/usr/bin/env node\nimport './bundle/cli.js';\n");
// npm marks a package's `bin` executable when it is installed from a registry, not in a clone.
chmodSync(inDist('cli.js'), 0o755);
