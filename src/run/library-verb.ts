/** The door of the library: what every function of it must be given, and what it rejects with. */

import * as z from 'zod';

import { asFailure, Failure, textOf } from '../errors.ts';
import { parseDay } from '../model/calendar.ts';
import { catalogSections } from '../model/catalog.ts';

/**
 * A function of a configuration and options, with those it needs; it rejects with a `Failure`, whatever happens. One that takes
 * something else for a configuration, too, checks it itself.
 */
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

/** A function of options alone, with those it needs; it rejects with a `Failure`, whatever happens. */
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

/** Calls a function that the caller gave; what it throws is the caller's to correct, unless the caller's signal made it. */
export async function asked<Answer>(
  name: OptionName,
  signal: AbortSignal | undefined,
  ask: () => Promise<Answer>,
): Promise<Answer> {
  try {
    return await ask();
  } catch (thrown) {
    if (thrown instanceof Failure || signal?.aborted === true) throw thrown;
    throw new Failure('USAGE_INVALID', `The function given as ${name} failed: ${textOf(thrown)}`, {
      hint: `Correct the function given as ${name}.`,
      cause: thrown,
    });
  }
}

/** Does work that rejects with a `Failure`, whatever happens, `INTERRUPTED` once the signal of the options has aborted. */
export async function rejecting<Result>(options: unknown, work: () => Promise<Result>): Promise<Result> {
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
const reportShape = z.object({ as_of: z.string(), health: z.object({ state: z.string() }), slices: list, runs: list });

/** Refuses what is no configuration. */
export function checkConfig(given: unknown): void {
  checkFirstArgument(configShape.safeParse(given), 'configuration', 'Give what `readConfig` resolves to.');
}

/** Refuses what is no status report. */
export function checkReport(given: unknown): void {
  checkFirstArgument(reportShape.safeParse(given), 'status report', 'Give what `status` resolves to.');
}

function checkFirstArgument({ error }: z.ZodSafeParseResult<unknown>, what: string, hint: string): void {
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
const world = z
  .strictObject({ seed: whole(0), apps: whole(1), partners: whole(1), links: whole(0), rowsPerDay: whole(1) })
  .partial();

/** What an option must be, in words that follow "as", and the options of that kind; a name means the same in every function. */
const kinds = [
  {
    form: 'a text',
    schema: z.string(),
    names: ['app', 'costCredential', 'directory', 'engine', 'file', 'link', 'name', 'output', 'parent', 'partner'],
  },
  { form: 'a text', schema: z.string(), names: ['slice', 'table', 'token', 'word'] },
  { form: 'a text, or null', schema: z.string().nullable(), names: ['format', 'metricsFile'] },
  { form: 'a list of names', schema: z.array(z.string()), names: ['slices'] },
  { form: `one of ${catalogSections.join(', ')}`, schema: z.enum(catalogSections), names: ['section'] },
  {
    form: 'true or false',
    schema: z.boolean(),
    names: [
      'acceptLoss',
      'asIs',
      'costData',
      'dryRun',
      'evenIfTaken',
      'finalOnly',
      'offline',
      'resendUnknown',
      'simulator',
    ],
  },
  { form: 'days, as `parseDay` gives them, with a start before the end', schema: days, names: ['days'] },
  { form: 'a day, as `parseDay` gives it, or null', schema: day.nullable(), names: ['before', 'from', 'to'] },
  { form: 'a Date that is an instant, or null', schema: z.date().nullable(), names: ['asOf', 'now'] },
  { form: 'milliseconds from 0 on, or null', schema: milliseconds.nullable(), names: ['deadlineMs', 'lockWaitMs'] },
  { form: 'rights of a file, from 0 to 0o777', schema: whole(0, 0o777), names: ['mode'] },
  { form: 'a whole number from 1 on', schema: whole(1), names: ['nights'] },
  { form: 'a whole number from 0 to 65535', schema: whole(0, 65_535), names: ['port'] },
  { form: `an object of whole numbers, of ${Object.keys(world.shape).join(', ')}`, schema: world, names: ['world'] },
  { form: 'an object', schema: z.custom(isObject), names: ['account', 'environment'] },
  {
    form: 'a stream to write to',
    schema: z.custom((value) => isObject(value) && 'write' in value),
    names: ['stream'],
  },
  { form: 'a function', schema: verb, names: ['emit', 'tell'] },
  { form: 'true or a function', schema: z.union([z.literal(true), verb]), names: ['agree'] },
  { form: 'an AbortSignal', schema: z.instanceof(AbortSignal), names: ['signal'] },
] as const;

type OptionName = (typeof kinds)[number]['names'][number];

/** Throws `USAGE_INVALID` with every option that is not what it must be, or that is needed and missing. */
export function checkOptions(options: unknown, needed: readonly OptionName[]): void {
  if (!isObject(options)) throw refusal([`The options were ${shown(options)}.`], 'Give an object.');
  const given = new Map<string, unknown>(Object.entries(options));
  const wrong = kinds.flatMap(({ form, schema, names }) =>
    names.flatMap((name: OptionName) => {
      const value = given.get(name);
      const isRight = value === undefined ? !needed.includes(name) : schema.safeParse(value).success;
      return isRight ? [] : [{ message: `The option ${name} was ${shown(value)}.`, remedy: `${name} as ${form}` }];
    }),
  );
  if (wrong.length === 0) return;
  const remedies = wrong.map(({ remedy }) => remedy).join('; ');
  throw refusal(
    wrong.map(({ message }) => message),
    `Give ${remedies}.`,
  );
}

const refusal = (messages: readonly string[], hint: string): Failure =>
  new Failure('USAGE_INVALID', messages.join(' '), { hint });

/** A value in words; of one with parts only what it is, as they may be secret. */
function shown(value: unknown): string {
  if (value === undefined) return 'not given';
  if (typeof value === 'string') return JSON.stringify(value);
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'an invalid Date' : value.toISOString();
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'number' || typeof value === 'boolean' || value === null) return String(value);
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}
