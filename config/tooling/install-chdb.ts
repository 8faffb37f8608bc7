/** Installs ClickHouse in a library (npm chdb, 550 MB) for `npm run test:lake`, beside the packages everybody installs. */

import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Its platform package, which holds ClickHouse 26.7, is fixed by it; `ripen publish --ddl clickhouse` names both. */
const VERSION = '3.4.0';

const folder = fileURLToPath(new URL('../../node_modules/.cache/ripen-lake/', import.meta.url));

/** Leaves what is installed in that version as it is; anything else is installed from the registry. */
export function setup(): void {
  const manifest = `${folder}node_modules/chdb/package.json`;
  if (existsSync(manifest) && readFileSync(manifest, 'utf8').includes(`"version": "${VERSION}"`)) return;
  process.stdout.write(`Installing chdb ${VERSION} into ${folder}\n`);
  mkdirSync(folder, { recursive: true });
  // Without a manifest there npm would install into the repository above.
  writeFileSync(`${folder}package.json`, '{"private":true}\n');
  const args = ['install', '--no-save', '--no-package-lock', '--no-audit', '--no-fund', `chdb@${VERSION}`];
  execFileSync('npm', args, { cwd: folder, stdio: 'inherit', shell: process.platform === 'win32' });
}
