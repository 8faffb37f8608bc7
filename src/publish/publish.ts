/**
 * Brings the readable copies up to date with the warehouse, which alone is the truth: what a copy lacks or has half done is
 * made again, and what the warehouse no longer has is removed. Readers never block and are never blocked.
 */

import type { Config, PublishTarget } from '../config/config.ts';
import type { Failure } from '../errors.ts';
import type { Emit } from '../events.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { publishDelta } from './delta/publish-delta.ts';
import { withStore } from './open-store.ts';
import { publisherOf } from './other-database.ts';
import { asPublishFailure, assertOwnTarget } from './places.ts';
import { publishPlain } from './plain.ts';
import type { CopyReport } from './plan.ts';
import { publishSnapshot } from './snapshot.ts';

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
 * Publishes to all targets in order, despite failures; passes each outcome to `done` at once. `confirmedNow` is the current
 * instant if the service's responses agree with this machine's clock; otherwise nothing is removed for its age. Throws the
 * signal's reason.
 */
export async function publish(
  {
    publish: targets,
    confirmedNow = null,
  }: Pick<Config, 'publish'> & { readonly confirmedNow?: Date | null },
  warehouse: Warehouse,
  { emit, signal }: { readonly emit: Emit; readonly signal: AbortSignal },
  done: (outcome: Published | Failure) => void = () => {},
): Promise<Publication> {
  const published: Published[] = [];
  const failures: Failure[] = [];
  await warehouse.withSession(async (session) => {
    for (const target of targets) {
      signal.throwIfAborted();
      const { kind, path } = target;
      const startedAt = performance.now();
      try {
        await assertOwnTarget(target, await publisherOf(session), signal);
        const report =
          target.kind === 'duckdb'
            ? await publishSnapshot(session, target, signal)
            : await withStore(target, session, signal, async (store) => {
                const place = { warehouse: session, store, signal };
                if (target.kind === 'parquet') return publishPlain(place);
                return publishDelta({ ...place, target }, confirmedNow, emit);
              });
        const copy = { kind, path, ...report };
        published.push(copy);
        done(copy);
        const ms = Math.round(performance.now() - startedAt);
        emit({ type: 'published', kind, path, ms, filesWritten: report.files_written });
      } catch (error) {
        signal.throwIfAborted();
        const failure = asPublishFailure(target, error);
        failures.push(failure);
        done(failure);
      }
    }
  });
  return { published, failures };
}
