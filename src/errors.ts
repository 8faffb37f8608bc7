/** The closed lists of failures and warnings. A kind fixes the exit code (sysexits). A code is stable. */

/** 128 plus the signal's number, as shells report. */
export const signalExitCodes = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const;

export type SignalName = keyof typeof signalExitCodes;

/** Most serious kind first, which decides among several failures. */
export const exitCodes = {
  bug: 70,
  usage: 78,
  storage: 74,
  contract: 65,
  unavailable: 75,
  interrupted: signalExitCodes.SIGTERM,
} as const;

export type FailureKind = keyof typeof exitCodes;

export const failureCodes = {
  ACCESS_FORBIDDEN: 'usage',
  AS_OF_IN_FUTURE: 'usage',
  AUDIT_HELD: 'contract',
  BUG: 'bug',
  CLOCK_UNTRUSTED: 'unavailable',
  CONFIG_INVALID: 'usage',
  CONFIG_MISSING: 'usage',
  CREDENTIALS_REFUSED: 'usage',
  DATA_DUPLICATE_KEY: 'contract',
  DATA_INCOMPLETE: 'contract',
  DATA_MALFORMED: 'contract',
  DATA_OUTSIDE_WINDOW: 'contract',
  DATA_REJECTED: 'contract',
  DATA_SHRUNK: 'contract',
  DEADLINE_PASSED: 'unavailable',
  ENGINE_MEMORY: 'storage',
  FETCH_IN_FUTURE: 'unavailable',
  INTERRUPTED: 'interrupted',
  SOURCE_ENDLESS_PAGES: 'contract',
  SOURCE_GARBLED: 'unavailable',
  SOURCE_MISSING: 'usage',
  SOURCE_OVERLOADED: 'unavailable',
  SOURCE_OVERSIZED: 'contract',
  SOURCE_REDIRECTED: 'usage',
  SOURCE_REFUSED: 'usage',
  SOURCE_TIMEOUT: 'unavailable',
  SOURCE_TOO_HEAVY: 'unavailable',
  SOURCE_UNAVAILABLE: 'unavailable',
  SPEND_REJECTED: 'contract',
  SPEND_UNKNOWN: 'unavailable',
  STORAGE_FAILED: 'storage',
  USAGE_INVALID: 'usage',
  WAREHOUSE_FOREIGN: 'storage',
  WAREHOUSE_LOCKED: 'unavailable',
  WAREHOUSE_NEWER: 'storage',
} as const satisfies Record<string, FailureKind>;

export type FailureCode = keyof typeof failureCodes;

export const warningCodes = [
  'ACCESS_LOST',
  'ARCHIVE_FAILED',
  'AS_OF_OLDER',
  'AUDIT_FAILED',
  'BACKFILL_CUT',
  'CATALOG_LIST_EMPTY',
  'CATALOG_METRIC_GONE',
  'CATALOG_STALE',
  'CLOCK_OFF',
  'CONTROL_DIFFERS',
  'CONTROL_UNREAD',
  'COPY_LATER',
  'DUPLICATE_ROWS',
  'EMPTY_PERIODS',
  'EVIDENCE_UNREAD',
  'FINAL_CHANGED',
  'LISTENER_FAILED',
  'LIST_SHRUNK',
  'MEANING_HELD_BACK',
  'METRICS_NOT_WRITTEN',
  'METRIC_CASE_TWIN',
  'METRIC_FORM_UNKNOWN',
  'METRIC_REFUSED',
  'METRIC_RESTLESS',
  'MISSING_KEYS',
  'NAMES_UNREADABLE',
  'NOTIFY_FAILED',
  'NOT_ADDITIVE',
  'PARTS_NOT_PROVEN',
  'REJECTED_ROWS',
  'REPLAY_EMPTY',
  'REPLAY_LACKS_APPS',
  'REPLAY_SKIPPED',
  'SERVICE_WARNING',
  'SPEND_COLUMN_UNKNOWN',
  'STATUS_UNREAD',
  'TOTALS_ROUNDED',
  'UNKNOWN_KEYS',
  'UNPROVEN',
] as const;

export type WarningCode = (typeof warningCodes)[number];

export type Facts = Readonly<Record<string, string | number | boolean | null>>;

interface Details {
  readonly facts?: Facts;
  /** What to do, as one imperative sentence. */
  readonly hint?: string | null;
  readonly cause?: unknown;
}

export class Failure extends Error {
  override readonly name = 'Failure';
  readonly code: FailureCode;
  readonly facts: Facts;
  readonly hint: string | null;

  constructor(code: FailureCode, message: string, details: Details = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.facts = details.facts ?? {};
    this.hint = details.hint ?? null;
  }

  get kind(): FailureKind {
    return failureCodes[this.code];
  }
}

export const isTooHeavy = ({ code }: Pick<Failure, 'code'>): boolean =>
  code === 'SOURCE_TOO_HEAVY' || code === 'SOURCE_TIMEOUT';

export const isPassing = (failure: Failure): boolean =>
  failure.kind === 'unavailable' && !isTooHeavy(failure);

/** Tells whether all that a run has still to do would fail too. */
export const endsRun = ({ code, kind }: Failure): boolean =>
  kind === 'storage' || code === 'CREDENTIALS_REFUSED' || code === 'CLOCK_UNTRUSTED';

/** The reason of an `AbortSignal` after a signal of the process. */
export class Stopped extends Error {
  override readonly name = 'AbortError';
  readonly by: SignalName;

  constructor(by: SignalName) {
    super(`${by} was received`);
    this.by = by;
  }
}

export function stoppedExitCode({ reason }: AbortSignal): number {
  return reason instanceof Stopped ? signalExitCodes[reason.by] : exitCodes.interrupted;
}

/** In the message if a proxy, not the service, refused the credentials. */
export const PROXY_CREDENTIALS = 'the proxy answered 407';

export const isOfToken = (of: { readonly code: string; readonly message: string }): boolean =>
  of.code === 'CREDENTIALS_REFUSED' && !of.message.includes(PROXY_CREDENTIALS);

export function asFailure(thrown: unknown, signal?: AbortSignal): Failure {
  if (thrown instanceof Failure) return thrown;
  const failure = (code: FailureCode, message: string, hint: string) =>
    new Failure(code, message, { cause: thrown, hint });
  if (signal?.aborted === true) {
    const reason = signal.reason instanceof Error ? `: ${textOf(signal.reason)}` : '';
    const hint = 'Run it again. Committed data is kept, and only the rest is done.';
    return failure('INTERRUPTED', `The work was stopped before it finished${reason}`, hint);
  }
  const text = textOf(thrown);
  if (ENGINE_MISSING.test(text)) {
    const hint =
      'Install ripen again on this machine, without --omit=optional: DuckDB itself is an optional package by platform.';
    return failure('USAGE_INVALID', `DuckDB could not be loaded: ${text.split('\n', 1)[0]}`, hint);
  }
  if (thrown instanceof RangeError && OUT_OF_MEMORY.test(text)) {
    const hint =
      'Raise the address-space limit (`ulimit -v`, `LimitAS=` of systemd): WebAssembly reserves about 10 GB.';
    return failure('ENGINE_MEMORY', `Out of memory: ${text}`, hint);
  }
  const hint = 'Report it with the stack trace; `--verbose` prints one.';
  return failure('BUG', `An unexpected error occurred: ${text}`, hint);
}

const ENGINE_MISSING = /@duckdb\/node-bindings|duckdb native binding|duckdb\.node/;

/** For a WebAssembly module and for a buffer. */
const OUT_OF_MEMORY = /out of memory|allocation failed/i;

/** DuckDB's words, also in a failed commit. */
const ENGINE_ON_FILES = /^(?:IO|FATAL) Error|(?:Cannot|Could not) [a-z ]*file "|No space left/;

export function isOfStorage(error: unknown): boolean {
  return systemText(error, 'syscall') !== '' || ENGINE_ON_FILES.test(textOf(error));
}

const TOO_MANY_FILES = /\b(?:EMFILE|ENFILE)\b|Too many open files/;

/** In the message, whatever words the system used. */
export const FULL_DISK = 'the disk is full';
/** Full disk and full quota. Node 20 knows only the number of `EDQUOT`. */
const FULL_CODES: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT', -122]);
const FULL_WORDS = /No space left|quota exceeded/i;

export function storageFailed(
  message: string,
  cause: unknown,
  details: Details & { readonly hint: string },
): Failure {
  const text = textOf(cause);
  const { code, errno }: NodeJS.ErrnoException = cause instanceof Error ? cause : new Error();
  const isFull = FULL_CODES.has(code) || FULL_CODES.has(errno) || FULL_WORDS.test(text);
  const hint = TOO_MANY_FILES.test(text)
    ? 'Raise the limit of open files (`ulimit -n`, `LimitNOFILE=` of systemd), or lower service.max_concurrency.'
    : details.hint;
  const reason = isFull ? `${FULL_DISK} (${text})` : text;
  return new Failure('STORAGE_FAILED', `${message}: ${reason}`, { ...details, hint, cause });
}

/** Returns a text that Node adds to its errors, or an empty one. */
export function systemText(thrown: unknown, name: 'code' | 'syscall'): string {
  const text: unknown = thrown instanceof Error ? Reflect.get(thrown, name) : null;
  return typeof text === 'string' ? text : '';
}

/** Never throws, although not every thrown value has a text. */
export function textOf(thrown: unknown): string {
  try {
    return String(thrown instanceof Error ? thrown.message : thrown);
  } catch {
    return 'something without a text was thrown';
  }
}

export function exitCodeOf(failures: readonly Pick<Failure, 'code'>[]): number {
  return mostSerious(failures.map(({ code }) => exitCodes[failureCodes[code]]));
}

/** Returns 0 if none is the exit code of a failure. */
export function mostSerious(codes: readonly number[]): number {
  return Object.values(exitCodes).find((exitCode) => codes.includes(exitCode)) ?? 0;
}
