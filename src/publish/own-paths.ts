/** Files that a user names to be written, held against those that ripen reads or writes by itself. */

import { realpath } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

import type { Config } from '../config/config.ts';
import { Failure } from '../errors.ts';

/**
 * Throws `USAGE_INVALID` for a path that is the configuration, the warehouse or what lies beside it under its name, or that is
 * or lies in a copy.
 */
export async function refuseOwnPath(
  { file, warehouse, publish }: Pick<Config, 'file' | 'warehouse' | 'publish'>,
  path: string,
): Promise<void> {
  const named = await resolved(path);
  const owned = [
    { what: 'configuration', own: file, beside: '/' },
    { what: 'warehouse', own: warehouse, beside: '.' },
    ...publish
      .filter(({ path: own }) => !own.includes('://'))
      .map(({ kind, path: own }) => ({ what: kind, own, beside: kind === 'duckdb' ? '.' : '/' })),
  ];
  for (const { what, own, beside } of owned) {
    const real = await resolved(own);
    if (named !== real && !named.startsWith(real + beside)) continue;
    throw new Failure('USAGE_INVALID', `The file ${path} was not written: it belongs to the ${what} ${own}.`, {
      facts: { path },
      hint: 'Name a file or a folder outside of what ripen reads and writes by itself.',
    });
  }
}

/** The path without links, as far as it exists. */
async function resolved(path: string): Promise<string> {
  const above = dirname(path);
  return realpath(path).catch(async () => (above === path ? path : join(await resolved(above), basename(path))));
}
