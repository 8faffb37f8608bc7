/** The entry of every library function: checks its arguments, and lets it reject only with a `Failure`. */

import * as z from 'zod';

import { asFailure, Failure, textOf } from '../errors.ts';
import { parseDay } from '../model/calendar.ts';
import { catalogSections } from '../model/catalog.ts';

/** A function of a configuration (checked by `checkFirst`) and options (`needed` required); rejects only with a `Failure`. */
export function configVerb<Given extends readonly [config: unknown, options?: unknown], Result>(
  needed: readonly OptionName[],
  act: (...given: Given) => Promise<Result>,
  checkFirst: (config: unknown) => void = checkConfig,
): (...given: Given) => Promise<Result> {
  return async (...given) => {
    const [config, options = {}] = given;
    return rejecting(options, async () => {
      checkFirst(config);
      checkOptions(options, needed);
      return act(...given);
    });
  };
}

/** A function of options alone (`needed` required); rejects only with a `Failure`. */
export function plainVerb<Given extends readonly [options?: unknown], Result>(
  needed: readonly OptionName[],
  act: (...given: Given) => Promise<Result>,
): (...given: Given) => Promise<Result> {
  return async (...given) => {
    const [options = {}] = given;
    return rejecting(options, async () => {
      checkOptions(options, needed);
      return act(...given);
    });
  };
}

/** Calls a function of the caller. Throws `USAGE_INVALID` if it fails, unless with a `Failure` or after the signal's abort. */
export async function resultOf<Answer>(
  name: OptionName,
  signal: AbortSignal | undefined,
  callback: () => Promise<Answer>,
): Promise<Answer> {
  try {
    return await callback();
  } catch (thrown) {
    if (thrown instanceof Failure || signal?.aborted === true) throw thrown;
    throw new Failure('USAGE_INVALID', `The function given as ${name} failed: ${textOf(thrown)}`, {
      hint: `Correct the function given as ${name}.`,
      cause: thrown,
    });
  }
}

/** Does work that rejects only with a `Failure`: with `INTERRUPTED` once the signal in the options has aborted. */
export async function rejecting<Result>(
  options: unknown,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } catch (thrown) {
    const { signal } = isObject(options) && 'signal' in options ? options : {};
    throw asFailure(thrown, signal instanceof AbortSignal ? signal : undefined);
  }
}

const list = z.array(z.unknown());
const configShape = z.object({
  service: z.object({ kind: z.string() }),
  warehouse: z.string(),
  publish: list,
  slices: list,
});
const reportShape = z.object({
  as_of: z.string(),
  health: z.object({ state: z.string() }),
  slices: list,
  runs: list,
});

/** Throws `USAGE_INVALID` if the value is not a configuration. */
export function checkConfig(given: unknown): void {
  checkFirstArgument(
    configShape.safeParse(given),
    'configuration',
    'Pass the result of `readConfig`.',
  );
}

/** Throws `USAGE_INVALID` if the value is not a status report. */
export function checkReport(given: unknown): void {
  checkFirstArgument(reportShape.safeParse(given), 'status report', 'Pass the result of `status`.');
}

function checkFirstArgument(
  { error }: z.ZodSafeParseResult<unknown>,
  what: string,
  hint: string,
): void {
  if (error === undefined) return;
  const wrong = new Set(error.issues.map(({ path }) => String(path[0] ?? 'all of it')));
  const message = `The first argument was no ${what} (missing or wrong: ${[...wrong].join(', ')}).`;
  throw new Failure('USAGE_INVALID', message, { hint });
}

const isDay = (value: unknown): boolean => typeof value === 'string' && parseDay(value) !== null;
const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;
const whole = (least: number, most = Number.MAX_SAFE_INTEGER) => z.int().min(least).max(most);

const day = z.custom<string>(isDay);
const milliseconds = z.custom<number>((value) => typeof value === 'number' && value >= 0);
const days = z.object({ start: day, end: day }).refine(({ start, end }) => start < end);
const verb = z.custom((value) => typeof value === 'function');
const stream = z.custom((value) => isObject(value) && 'write' in value);

/** The options by kind, each kind with its schema; a name means the same in every function. */
const kinds = [
  [
    z.string(),
    [
      'app',
      'costCredential',
      'directory',
      'engine',
      'file',
      'link',
      'name',
      'output',
      'parent',
      'partner',
    ],
  ],
  [z.string(), ['slice', 'table', 'token', 'word']],
  [z.string().nullable(), ['format', 'metricsFile']],
  [z.array(z.string()), ['slices']],
  [z.enum(catalogSections), ['section']],
  [z.boolean(), ['acceptLoss', 'asIs', 'costData', 'dryRun', 'finalOnly', 'offline']],
  [z.boolean(), ['resendUnknown', 'simulator']],
  [days, ['days']],
  [day.nullable(), ['before', 'from', 'to']],
  [z.date().nullable(), ['asOf', 'now']],
  [milliseconds.nullable(), ['deadlineMs', 'lockWaitMs']],
  [whole(0, 0o777), ['mode']],
  [whole(1), ['nights']],
  [whole(0, 65_535), ['port']],
  [z.record(z.string(), whole(0)), ['world']],
  [z.custom(isObject), ['account', 'environment']],
  [stream, ['stream']],
  [verb, ['emit']],
  [z.union([z.literal(true), verb]), ['agree']],
  [z.instanceof(AbortSignal), ['signal']],
] as const;

type OptionName = (typeof kinds)[number][1][number];

/** Throws `USAGE_INVALID` with every option that is invalid, or that is needed and missing. */
export function checkOptions(options: unknown, needed: readonly OptionName[]): void {
  if (!isObject(options)) throw refusal([`The options were ${shown(options)}.`]);
  const given = new Map<string, unknown>(Object.entries(options));
  const wrong = kinds.flatMap(([schema, names]) =>
    names.flatMap((name: OptionName) => {
      const value = given.get(name);
      const isRight =
        value === undefined ? !needed.includes(name) : schema.safeParse(value).success;
      return isRight ? [] : [`The option ${name} was ${shown(value)}.`];
    }),
  );
  if (wrong.length > 0) throw refusal(wrong);
}

const refusal = (messages: readonly string[]): Failure =>
  new Failure('USAGE_INVALID', messages.join(' '), {
    hint: 'Give each option as its type says, and days as `parseDay` gives them, the start before the end.',
  });

/** A value in words; of an object or a list only the kind, as its parts may be secret. */
function shown(value: unknown): string {
  if (value === undefined) return 'not given';
  if (typeof value === 'string') return JSON.stringify(value);
  if (value instanceof Date)
    return Number.isNaN(value.getTime()) ? 'an invalid Date' : value.toISOString();
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'number' || typeof value === 'boolean' || value === null)
    return String(value);
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}
