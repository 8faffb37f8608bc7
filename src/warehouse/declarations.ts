/** Replaces views and comments only if their inputs have changed, or a view was dropped or replaced. */

import { createHash } from 'node:crypto';

import * as z from 'zod';

import { cachedRead } from './cached-reads.ts';
import { readRelations } from './relations.ts';
import { asScript, identifier, insertRows, literal, statement } from './sql.ts';
import type { Warehouse } from './warehouse.ts';

export interface Declaration {
  readonly name: string;
  /** Null if it is about several. */
  readonly slice: string | null;
  /** What the statements are made from. */
  readonly inputs: readonly string[];
  /** What they change, with the schema and without quotes. */
  readonly relations: readonly string[];
  readonly statements: () => Promise<readonly string[]>;
}

const declarationRow = z.object({ name: z.string(), hash: z.string(), state: z.string() });

const readDeclarations = cachedRead(async (warehouse) => {
  const rows = await warehouse.rows(statement('ledger/declarations'), [], declarationRow);
  return new Map(rows.map((row) => [row.name, row]));
});

/** Declarations of one script, each of some hundred statements. */
const MAX_TOGETHER = 20;

/** Runs the statements of changed declarations, inside the caller's transaction. */
export async function declare(
  warehouse: Warehouse,
  declarations: readonly Declaration[],
): Promise<void> {
  const stored = await readDeclarations(warehouse);
  const rowsOf = async (of: readonly Declaration[]) => {
    const relations = await readRelations(warehouse);
    return of.map(({ name, slice, inputs, relations: names }) => {
      const states = names.map((relation) => relations.get(relation)?.state ?? 'none');
      return { slice, name, hash: hashOf(inputs), state: hashOf(states) };
    });
  };
  const current = await rowsOf(declarations);
  const changed = declarations.filter(({ name }, at) => {
    const { hash, state } = stored.get(name) ?? {};
    return hash !== current[at]?.hash || state !== current[at]?.state;
  });
  if (changed.length === 0) return;
  const names = changed.map(({ name }) => literal(name)).join(', ');
  await warehouse.run(`delete from ripen_internal.declarations where name in (${names})`);
  for (let start = 0; start < changed.length; start += MAX_TOGETHER) {
    const chunk = changed.slice(start, start + MAX_TOGETHER);
    const statements = await Promise.all(chunk.map(async (each) => each.statements()));
    if (statements.flat().length > 0) await warehouse.alter(asScript(statements.flat()));
  }
  await insertRows(warehouse, 'ripen_internal.declarations', await rowsOf(changed));
}

/** For declarations that depend on earlier ones. */
export async function declaredHashes(
  warehouse: Warehouse,
  names: readonly string[],
): Promise<string[]> {
  const stored = await readDeclarations(warehouse);
  return names.map((name) => stored.get(name)?.hash ?? '');
}

const hashOf = (texts: readonly string[]) =>
  createHash('sha256').update(JSON.stringify(texts)).digest('hex').slice(0, 16);

export function commentOn(
  kind: 'table' | 'view',
  relation: string,
  text: string,
  columns: Iterable<readonly [name: string, words: string]>,
): string[] {
  return [
    `comment on ${kind} ${relation} is ${literal(text)}`,
    ...[...columns].map(
      ([name, words]) => `comment on column ${relation}.${identifier(name)} is ${literal(words)}`,
    ),
  ];
}
