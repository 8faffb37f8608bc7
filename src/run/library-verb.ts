/** The door of the library: what every function of it holds its arguments against, and what it rejects with. */

import { asFailure, Failure, textOf } from '../errors.ts';
import { checkOptions, type OptionName } from './option-kinds.ts';

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

/** Asks a function that the caller gave; what it throws is the caller's to mend, unless the caller's signal made it. */
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
      hint: `Mend the function given as ${name}.`,
      cause: thrown,
    });
  }
}

/** Does work that rejects with a `Failure`, whatever happens, `INTERRUPTED` once the signal of the options has aborted. */
export async function rejecting<Result>(options: unknown, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (thrown) {
    const { signal } = typeof options === 'object' && options !== null && 'signal' in options ? options : {};
    throw asFailure(thrown, signal instanceof AbortSignal ? signal : undefined);
  }
}

/** By field, what tells a first argument from another. */
type Shape = Readonly<Record<string, (value: unknown) => boolean>>;

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;
const isText = (value: unknown): boolean => typeof value === 'string';

const configShape: Shape = {
  service: (value) => isObject(value) && 'kind' in value,
  warehouse: isText,
  publish: Array.isArray,
  slices: Array.isArray,
};

const reportShape: Shape = {
  as_of: isText,
  health: (value) => isObject(value) && 'state' in value,
  slices: Array.isArray,
  runs: Array.isArray,
};

/** Refuses what is no configuration. */
export function checkConfig(given: unknown): void {
  checkArgument(given, configShape, 'configuration', 'Give what `readConfig` resolves to.');
}

/** Refuses what is no status report. */
export function checkReport(given: unknown): void {
  checkArgument(given, reportShape, 'status report', 'Give what `status` resolves to.');
}

function checkArgument(given: unknown, shape: Shape, what: string, hint: string): void {
  const fields = new Map<string, unknown>(isObject(given) ? Object.entries(given) : []);
  const wrong = Object.entries(shape).flatMap(([name, is]) => (is(fields.get(name)) ? [] : [name]));
  if (wrong.length === 0) return;
  const message = `The first argument was no ${what} (missing or wrong: ${wrong.join(', ')}).`;
  throw new Failure('USAGE_INVALID', message, { hint });
}
