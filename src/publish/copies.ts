/** The kinds of publish targets, and whether a target may be written to: a copy is judged by what it states of itself. */

import type { Config, PublishTarget } from '../config/config.ts';
import { asFailure, Failure, isOfStorage, storageFailed, textOf } from '../errors.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { deltaCopy } from './formats/delta.ts';
import { parquetCopy } from './formats/parquet.ts';
import { snapshotCopy } from './formats/snapshot.ts';
import { publisherOf } from './places/database.ts';
import type { Copy, CopyOrigin, Publisher } from './copy.ts';

export function copyAt(target: PublishTarget): Copy {
  if (target.kind === 'duckdb') return snapshotCopy(target);
  if (target.kind === 'delta') return deltaCopy(target);
  return parquetCopy(target);
}

/**
 * Returns what a target states of itself, or null if it is free. Throws `WAREHOUSE_FOREIGN` for the copy of another warehouse,
 * and as `Copy.owner` does.
 */
export async function assertOwnTarget(
  target: PublishTarget,
  publisher: Publisher,
  signal: AbortSignal,
): Promise<CopyOrigin | null> {
  try {
    const origin = await copyAt(target).owner(publisher, signal);
    if (origin === null || origin.warehouse === publisher.id) return origin;
    const message = `${target.path} is a copy of another warehouse (${origin.warehouse}), not of ${publisher.path} (${publisher.id ?? 'new'}).`;
    throw new Failure('WAREHOUSE_FOREIGN', message, {
      facts: { target: target.path, found: origin.warehouse, expected: publisher.id },
      hint: 'Set another path under publish. If the warehouse was lost, copy the published snapshot to its path, or move the copy away to start again.',
    });
  } catch (error) {
    signal.throwIfAborted();
    throw asPublishFailure(target, error);
  }
}

/** Throws, with all messages, for copies of other warehouses and for `USAGE_INVALID`. Publishing reports the other failures. */
export async function assertOwnCopies(
  { publish }: Pick<Config, 'publish'>,
  warehouse: Warehouse,
  signal: AbortSignal,
): Promise<void> {
  const publisher = await publisherOf(warehouse, warehouse.path);
  const failures: Failure[] = [];
  for (const target of publish) {
    await assertOwnTarget(target, publisher, signal).catch((error: unknown) => {
      signal.throwIfAborted();
      const failure = asFailure(error);
      if ('found' in failure.facts || failure.code === 'USAGE_INVALID') failures.push(failure);
    });
  }
  throwAll(failures);
}

export function throwAll([first, ...others]: readonly Failure[]): void {
  if (first === undefined) return;
  if (others.length === 0) throw first;
  const messages = [first, ...others].map(({ message }) => message);
  const facts = { places: messages.length };
  throw new Failure(first.code, messages.join('; '), {
    facts,
    hint: first.hint ?? '',
    cause: first,
  });
}

/** Returns `STORAGE_FAILED` for errors of the disk or of DuckDB's memory, else the error as `asFailure` has it. */
export function asPublishFailure({ path }: PublishTarget, error: unknown): Failure {
  const isOfPlace = isOfStorage(error) || textOf(error).startsWith('Out of Memory Error');
  if (error instanceof Failure || !isOfPlace) return asFailure(error);
  return storageFailed(`Publishing to ${path} failed`, error, {
    facts: { target: path },
    hint: 'Check free space and permissions of the target; the next run completes what is missing.',
  });
}
