/** Packages that one slow suite needs and that are too heavy for everybody: installed on demand, apart from the others. */

import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const CACHE =
  process.env['RIPEN_TOOLS'] ??
  fileURLToPath(new URL('../../node_modules/.cache', import.meta.url));

/** Where such packages lie; what they do not bring themselves they find in the `node_modules` above. */
export function cachedFolder(name: string): string {
  return `${CACHE}/${name}/`;
}

/** Installs packages of these versions from the registry, unless they are there already. */
export function installCached(
  folder: string,
  packages: Readonly<Record<string, string>>,
  options: readonly string[] = [],
): void {
  const wanted = Object.entries(packages);
  if (
    wanted.every(([name, version]) =>
      isInstalled(`${folder}node_modules/${name}/package.json`, version),
    )
  )
    return;
  const names = wanted.map(([name, version]) => `${name}@${version}`);
  process.stdout.write(`Installing ${names.join(', ')} into ${folder}\n`);
  mkdirSync(folder, { recursive: true });
  // Without a manifest there npm would install into the repository above.
  writeFileSync(`${folder}package.json`, '{"private":true}\n');
  const args = [
    'install',
    '--no-save',
    '--no-package-lock',
    '--no-audit',
    '--no-fund',
    ...options,
    ...names,
  ];
  execFileSync('npm', args, { cwd: folder, stdio: 'inherit', shell: process.platform === 'win32' });
}

function isInstalled(manifest: string, version: string): boolean {
  return existsSync(manifest) && readFileSync(manifest, 'utf8').includes(`"version": "${version}"`);
}
