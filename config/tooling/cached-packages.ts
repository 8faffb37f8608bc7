/** Packages that one slow suite needs and that are too heavy for everybody: installed on demand, apart from the others. */

import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const CACHE = new URL('../../node_modules/.cache/', import.meta.url);

/** Where such packages lie; what they do not bring themselves they find in the `node_modules` above. */
export function cachedFolder(name: string): string {
  return fileURLToPath(new URL(`${name}/`, CACHE));
}

/** Installs packages of one version from the registry, unless the first of them is there in that version already. */
export function installCached(
  folder: string,
  packages: readonly [string, ...string[]],
  version: string,
  options: readonly string[] = [],
): void {
  const manifest = `${folder}node_modules/${packages[0]}/package.json`;
  if (existsSync(manifest) && readFileSync(manifest, 'utf8').includes(`"version": "${version}"`)) return;
  process.stdout.write(`Installing ${packages.join(', ')} ${version} into ${folder}\n`);
  mkdirSync(folder, { recursive: true });
  // Without a manifest there npm would install into the repository above.
  writeFileSync(`${folder}package.json`, '{"private":true}\n');
  const wanted = packages.map((name) => `${name}@${version}`);
  const args = ['install', '--no-save', '--no-package-lock', '--no-audit', '--no-fund', ...options, ...wanted];
  execFileSync('npm', args, { cwd: folder, stdio: 'inherit', shell: process.platform === 'win32' });
}
