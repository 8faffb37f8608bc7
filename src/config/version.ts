/** The version of this program, from its package. */

import { readFileSync } from 'node:fs';

const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
const [, number] = /"version": "([^"]+)"/.exec(manifest) ?? [];
if (number === undefined) throw new Error('The package of this program was not found beside it.');

export const version = number;
