/** The version of this program, from its package. */

import { readFileSync } from 'node:fs';

import * as z from 'zod';

const manifest = new URL('../package.json', import.meta.url);

export const version = z.object({ version: z.string() }).parse(JSON.parse(readFileSync(manifest, 'utf8'))).version;
