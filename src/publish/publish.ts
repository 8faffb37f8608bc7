/**
 * Brings the readable copies up to date with the warehouse, which alone is the truth: what a copy lacks or has half done is
 * made again, and what the warehouse no longer has is removed. Readers never block and are never blocked.
 */

import type { Config, PublishTarget } from '../config/config.ts';
import type { Failure } from '../errors.ts';
import { failedEvent, warningEvent, type Emit } from '../events.ts';
import { minuteText } from '../model/measure.ts';
import { insertRows, statement } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { auditNight } from './audits.ts';
import { Contents } from './contents.ts';
import { asPublishFailure, assertOwnTarget, copyAt } from './copies.ts';
import { publisherOf } from './places/database.ts';
import type { CopyReport } from './copy.ts';

export interface Published extends CopyReport {
  readonly kind: PublishTarget['kind'];
  readonly path: string;
}

export interface Publication {
  readonly published: readonly Published[];
  /** One per target that failed, such as `WAREHOUSE_FOREIGN`, `STORAGE_FAILED`, `USAGE_INVALID`; `BUG` if unforeseen. */
  readonly failures: readonly Failure[];
}

/**
 * Publishes to all targets in order, despite failures, and emits each outcome at once. `confirmedNow` is the current instant if
 * the service's responses agree with this machine's clock. Otherwise nothing is removed for its age. Throws the signal's reason.
 */
export async function publish(
  {
    publish: targets,
    confirmedNow = null,
  }: Pick<Config, 'publish'> & { readonly confirmedNow?: Date | null },
  warehouse: Warehouse,
  { emit, signal }: { readonly emit: Emit; readonly signal: AbortSignal },
): Promise<Publication> {
  const published: Published[] = [];
  const failures: Failure[] = [];
  if (targets.length === 0) return { published, failures };
  await warehouse.withSession(async (session) => {
    const publisher = await publisherOf(session, session.path);
    const last = publisher.publishes.at(-1) ?? { number: 0, atMs: 0 };
    const current = { number: last.number + 1, atMs: Date.now() };
    const row = { number: current.number, published_at: new Date(current.atMs) };
    // Recorded before any copy states it, so that the warehouse knows every copy of its own.
    await insertRows(session, 'ripen_internal.publishes', [row]);
    const publishing = {
      warehouse: session,
      contents: await Contents.read(session),
      owner: publisher.id ?? publisher.path,
      publish: current,
      confirmedNow,
      emit,
      signal,
    };
    for (const target of targets) {
      signal.throwIfAborted();
      const { kind, path } = target;
      const startedAt = performance.now();
      try {
        const origin = (await assertOwnTarget(target, publisher, signal))?.publish ?? null;
        const isRecorded = publisher.publishes.some(
          ({ number, atMs }) => number === origin?.number && atMs === origin.atMs,
        );
        const isLater = origin !== null && !isRecorded;
        const copy = { kind, path, ...(await copyAt(target).publish({ ...publishing, isLater })) };
        published.push(copy);
        if (isLater) {
          const [theirs, own] = [origin, last].map(
            ({ number, atMs }) => `${number}, ${minuteText(new Date(atMs).toISOString())}`,
          );
          const message = `${path} was of a later state of this warehouse (publish ${theirs}; the last one here is ${own}) and is now equal to it.`;
          emit(warningEvent('COPY_LATER', message));
        }
        const ms = Math.round(performance.now() - startedAt);
        emit({ type: 'published', kind, path, ms, filesWritten: copy.files_written });
      } catch (error) {
        signal.throwIfAborted();
        const failure = asPublishFailure(target, error);
        failures.push(failure);
        emit({ ...failedEvent(failure), target: path });
      }
    }
    const paths = JSON.stringify(published.map(({ path }) => path));
    if (published.length > 0)
      await session.run(statement('publish/record_copies'), [current.number, paths]);
  });
  return { published, failures };
}

/** Publishes a night, and tells which audits hold it back. Throws as `auditNight` and `publish` do. */
export async function publishAudited(
  config: Pick<Config, 'audits' | 'slices' | 'publish'>,
  warehouse: Warehouse,
  { emit, signal }: { readonly emit: Emit; readonly signal: AbortSignal },
): Promise<Publication> {
  const { held } = await auditNight(config, warehouse, { emit, signal });
  for (const failure of held) emit(failedEvent(failure));
  if (held.length > 0) return { published: [], failures: held };
  return publish(config, warehouse, { emit, signal });
}
