/** The version of this program, from its package. */

import { readFileSync } from 'node:fs';

const manifest = new URL('../../package.json', import.meta.url);

export const version: string = versionIn(readFileSync(manifest, 'utf8'));

function versionIn(text: string): string {
  const [, number] = /"version": "([^"]+)"/.exec(text) ?? [];
  if (number === undefined) throw new Error('The package of this program was not found beside it.');
  return number;
}
