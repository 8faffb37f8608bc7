/** What every kind of copy can do, and what a publish passes to it. */

import type { ObjectStore, PublishTarget } from '../config/config.ts';
import type { Emit } from '../events.ts';
import type { Relation } from '../warehouse/relations.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import type { Contents } from './contents.ts';
import type { LakeTable } from './tables.ts';

export type TargetOf<Kind extends PublishTarget['kind']> = Extract<PublishTarget, { kind: Kind }>;

export interface CopyReport {
  /** Files for readers; 0 if the copy was up to date. */
  readonly files_written: number;
  /** Files that were removed because the warehouse no longer has their rows. */
  readonly files_removed: number;
  /** The version, the catalog or the manifest, if written. */
  readonly also_written: readonly string[];
}

/** Which publish of a warehouse a copy is of. */
interface PublishNumber {
  readonly number: number;
  readonly atMs: number;
}

export interface Publisher {
  readonly path: string;
  /** Null if the warehouse does not exist yet. */
  readonly id: string | null;
  readonly publishes: readonly PublishNumber[];
}

export interface CopyOrigin {
  readonly warehouse: string;
  readonly publish: PublishNumber | null;
}

export interface Publishing {
  /** A session of its own. */
  readonly warehouse: Warehouse;
  readonly contents: Contents;
  readonly owner: string;
  readonly publish: PublishNumber;
  /** Whether the copy was of a state that the warehouse no longer has. */
  readonly isLater: boolean;
  /** Null if the service does not confirm the clock: then nothing is removed for its age. */
  readonly confirmedNow: Date | null;
  readonly emit: Emit;
  readonly signal: AbortSignal;
}

export interface DescribedTable extends Omit<Relation, 'isTable'> {
  readonly rows?: string;
}

export interface Lake {
  /** An absolute directory, or `s3://bucket/prefix`. */
  readonly root: string;
  readonly store: ObjectStore | null;
  readonly files: 'Delta tables' | 'plain files';
  /** The newest complete night of Delta tables. */
  readonly night: number | null;
  readonly tables: readonly LakeTable[];
}

export interface Copy {
  readonly form: 'file' | 'folder' | 'bucket';
  /** How long older versions stay readable. */
  readonly keepMs: number;
  /** Returns null if nothing is there. Throws for what must not be replaced. */
  owner(publisher: Publisher, signal: AbortSignal): Promise<CopyOrigin | null>;
  publish(publishing: Publishing): Promise<CopyReport>;
  /** What readers find: tables of a lake, and tables and views of a DuckDB file by schema. */
  describe(
    warehouse: Warehouse,
    signal: AbortSignal,
  ): Promise<{
    readonly lake: Lake | null;
    readonly database: {
      readonly path: string;
      readonly schemas: Readonly<Record<string, readonly DescribedTable[]>>;
    } | null;
  }>;
}
