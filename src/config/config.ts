/** The one frozen value that all outside words become. */

import type { Slice } from '../model/slice.ts';
import type { Proxy } from './proxy.ts';
import type { Secret } from './secret.ts';

export interface HttpService {
  readonly kind: 'http';
  /** Campaign API: partners and links. */
  readonly baseUrl: string;
  /** Reports and filters-data. */
  readonly reportsUrl: string;
  /** Ad spend; null when none is configured. */
  readonly costUrl: string | null;
  readonly token: Secret;
  /** The file it was read from; absent: none. */
  readonly tokenFile?: string;
  /** Extra headers on every call. */
  readonly headers: Readonly<Record<string, Secret | string>>;
  /** Extra headers on ad spend calls only: its credential, in whatever form. */
  readonly costHeaders: Readonly<Record<string, Secret>>;
  /** A PEM file with the certificate authority to trust, besides the usual ones. */
  readonly caFile: string | null;
  /** What connections to other machines go through; absent: nothing. */
  readonly proxy?: Proxy;
  /** 1…50 simultaneous report and filters-data calls. */
  readonly maxConcurrency: number;
  readonly maxStartsPerSecond: number;
  /** Simultaneous campaign API calls. */
  readonly campaignConcurrency: number;
  /** Total deadline of one call, headers and body. */
  readonly requestTimeoutMs: number;
  /** Most bytes an answer may have after decompression. */
  readonly maxResponseBytes: number;
  readonly maxUrlBytes: number;
}

export interface SimulatorService {
  readonly kind: 'simulator';
  readonly seed: number;
  /** The simulated instant; null follows the as-of instant. */
  readonly now: Date | null;
  readonly apps: number;
  readonly partners: number;
  readonly links: number;
  readonly rowsPerDay: number;
  readonly maxConcurrency: number;
}

/** Where an object store is and how it is asked; null is left to the environment. */
export interface ObjectStore {
  readonly bucket: string;
  /** Without slashes around it; empty for the whole bucket. */
  readonly prefix: string;
  readonly endpoint: string | null;
  readonly region: string | null;
  /** Whether the bucket is named in the path rather than in the host. */
  readonly pathStyle: boolean;
}

export type PublishTarget =
  | { readonly kind: 'duckdb'; readonly path: string; readonly mode: number }
  | {
      readonly kind: 'delta';
      /** An absolute directory, or `s3://bucket/prefix`. */
      readonly path: string;
      readonly mode: number;
      /** How long older versions, and the files they read, are kept. */
      readonly keepMs: number;
      /** Whether periods that `retain` deletes from the warehouse stay there. */
      readonly keepReleased?: boolean;
      /** Whether names of columns that engines refuse are mapped to others. */
      readonly columnMapping?: boolean;
      /** For `s3://`. */
      readonly store?: ObjectStore;
    }
  | {
      readonly kind: 'parquet';
      /** An absolute directory, or `s3://bucket/prefix`. */
      readonly path: string;
      readonly mode: number;
      /** For `s3://`. */
      readonly store?: ObjectStore;
    };

export interface Links {
  readonly apps: 'all' | readonly string[];
  /** 1 network … 4 creative. */
  readonly maxLevel: number;
  /** Least time between two crawls of an app; left out: each night. */
  readonly everyMs?: number;
}

/** How a run can end, as far as others are told. `recovered`: it succeeded, and the one before it had not. */
export const outcomes = ['succeeded', 'failed', 'recovered'] as const;

export type Outcome = (typeof outcomes)[number];

/** An address that is told of a run's end. */
export interface Notify {
  /** Who knows it can write there. */
  readonly url: Secret;
  readonly on: readonly Outcome[];
  /** What the connection goes through; null: nothing. */
  readonly proxy: Proxy | null;
}

export interface Config {
  /** Absolute path of the file it was read from; other paths are absolute, resolved against its directory. */
  readonly file: string;
  /** The name of the account; absent: none. */
  readonly name?: string;
  readonly service: HttpService | SimulatorService;
  readonly warehouse: string;
  readonly publish: readonly PublishTarget[];
  /** How long raw answers are kept; null keeps none. */
  readonly archiveMs: number | null;
  /** Windows of final cells asked for again each night. */
  readonly audit: number;
  readonly notify: readonly Notify[];
  readonly partners: boolean;
  readonly links: Links | null;
  readonly slices: readonly Slice[];
}
