/** The version of this program, from its package. */

import { existsSync, readFileSync } from 'node:fs';

/** Above `src` or `dist`, and two above the bundle. */
const manifest = ['../package.json', '../../package.json']
  .map((path) => new URL(path, import.meta.url))
  .find((path) => existsSync(path));

export const version: string = versionIn(
  manifest === undefined ? '' : readFileSync(manifest, 'utf8'),
);

function versionIn(text: string): string {
  const [, found] = /"version": "([^"]+)"/.exec(text) ?? [];
  if (found === undefined) throw new Error('The package of this program was not found beside it.');
  return found;
}
