/** Compiles a script that Node itself is to run: the bench's own compiler serves only this process. */

import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const tsc = fileURLToPath(new URL('../../../node_modules/.bin/tsc', import.meta.url));
const options =
  '--ignoreConfig --module nodenext --target es2023 --types node --skipLibCheck --strict';

/** Puts a `.mts` file without relative imports into a directory as JavaScript; its path there. */
export async function compileScript(source: URL, directory: string): Promise<string> {
  const file = fileURLToPath(source);
  await promisify(execFile)(tsc, [...options.split(' '), '--outDir', directory, file]);
  return join(directory, (file.split('/').at(-1) ?? '').replace(/\.mts$/, '.mjs'));
}
