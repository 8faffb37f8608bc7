/**
 * Replaces views and comments only if what they are made from has changed, or if one was dropped or replaced otherwise.
 * Replacing all took most of a run.
 */

import { createHash } from 'node:crypto';

import * as z from 'zod';

import { asScript, identifier, insertRows, literal, statement } from './sql.ts';
import { readRelations } from './relations.ts';
import { remembering } from './remembering.ts';
import type { Warehouse } from './warehouse.ts';

export interface Declaration {
  /** Unique in the warehouse. */
  readonly name: string;
  /** Null if it is about several. */
  readonly slice: string | null;
  readonly from: readonly string[];
  /** With their schema and without quotes. */
  readonly relations: readonly string[];
  /** Statements that can be repeated. */
  readonly statements: () => Promise<readonly string[]>;
}

const declarationRow = z.object({ name: z.string(), hash: z.string(), found: z.string() });

const readDeclarations = remembering(async (warehouse) => {
  const rows = await warehouse.rows(statement('ledger/declarations'), [], declarationRow);
  return new Map(rows.map((row) => [row.name, row]));
});

type Relations = Awaited<ReturnType<typeof readRelations>>;

/** Declarations of one script, each of some hundred statements. */
const MAX_TOGETHER = 20;

/** Runs the statements of those declarations that changed, as scripts. Runs inside the caller's transaction. */
export async function declare(
  warehouse: Warehouse,
  declarations: readonly Declaration[],
): Promise<void> {
  const stored = await readDeclarations(warehouse);
  const relations = await readRelations(warehouse);
  const changed = declarations.filter(({ name, from, relations: names }) => {
    const declaration = stored.get(name);
    return declaration?.hash !== hashOf(from) || declaration.found !== stateOf(relations, names);
  });
  if (changed.length === 0) return;
  const names = changed.map(({ name }) => literal(name)).join(', ');
  await warehouse.run(`delete from ripen_internal.declarations where name in (${names})`);
  for (let start = 0; start < changed.length; start += MAX_TOGETHER) {
    const chunk = changed.slice(start, start + MAX_TOGETHER);
    const statements = await Promise.all(
      chunk.map(async (declaration) => declaration.statements()),
    );
    await warehouse.alter(asScript(statements.flat()));
  }
  const made = await readRelations(warehouse);
  const rows = changed.map(({ name, slice, from, relations }) => {
    return { slice, name, hash: hashOf(from), found: stateOf(made, relations) };
  });
  await insertRows(warehouse, 'ripen_internal.declarations', rows);
}

/** Returns the hashes of earlier declarations, for those that depend on them. */
export async function declaredHashes(
  warehouse: Warehouse,
  names: readonly string[],
): Promise<string[]> {
  const declared = await readDeclarations(warehouse);
  return names.map((name) => declared.get(name)?.hash ?? '');
}

const stateOf = (stored: Relations, relations: readonly string[]): string =>
  hashOf(relations.map((relation) => stored.get(relation)?.state ?? 'none'));

function hashOf(texts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(texts)).digest('hex').slice(0, 16);
}

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
