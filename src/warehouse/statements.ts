/** The fixed statements of `sql/`, by name. */

import { readdirSync, readFileSync } from 'node:fs';

const root = new URL('../../sql/', import.meta.url);
const known = new Map<string, string>();

/** The text of `sql/<name>.sql`; throws when there is no such file. */
export function statement(name: string): string {
  const cached = known.get(name);
  if (cached !== undefined) return cached;
  const text = readFileSync(new URL(`${name}.sql`, root), 'utf8');
  known.set(name, text);
  return text;
}

export interface Migration {
  readonly version: number;
  readonly name: string;
  /** One statement each, in order. */
  readonly statements: readonly string[];
}

/** The migrations in order of their numbers. */
export function migrations(): Migration[] {
  return readdirSync(new URL('migrations/', root))
    .filter((file) => file.endsWith('.sql'))
    .sort()
    .map((file) => {
      const name = file.replace(/\.sql$/, '');
      // DuckDB runs one statement a call; migrations hold no semicolon inside a text or a comment.
      const statements = statement(`migrations/${name}`)
        .split(/;\s*$/m)
        .filter((text) => /^\s*[a-z]/im.test(text));
      return { version: Number(name.slice(0, 4)), name, statements };
    });
}
