/** Installs Stryker (167 packages, 65 MB) for `npm run test:mutation`, beside the packages everybody installs. */

import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const VERSION = '9.6.1';

/** Where its packages are; Vitest they find in the `node_modules` above. */
export const strykerFolder = fileURLToPath(new URL('../../node_modules/.cache/ripen-mutation/', import.meta.url));

/** Leaves what is installed in that version as it is; anything else is installed from the registry. */
export function setup(): void {
  const manifest = `${strykerFolder}node_modules/@stryker-mutator/vitest-runner/package.json`;
  if (existsSync(manifest) && readFileSync(manifest, 'utf8').includes(`"version": "${VERSION}"`)) return;
  process.stdout.write(`Installing Stryker ${VERSION} into ${strykerFolder}\n`);
  mkdirSync(strykerFolder, { recursive: true });
  // Without a manifest there npm would install into the repository above.
  writeFileSync(`${strykerFolder}package.json`, '{"private":true}\n');
  const packages = ['core', 'vitest-runner'].map((name) => `@stryker-mutator/${name}@${VERSION}`);
  // A second Vitest, installed as a peer, would not be the one that the tests are written for.
  const args = ['install', '--no-save', '--no-package-lock', '--legacy-peer-deps', '--no-audit', '--no-fund'];
  execFileSync('npm', [...args, ...packages], {
    cwd: strykerFolder,
    stdio: 'inherit',
    shell: process.platform === 'win32',
  });
}
