/** The door of the library: what every function of it holds its arguments against, and what it rejects with. */

import { asFailure, Failure, textOf } from '../errors.ts';
import { checkOptions, type OptionName } from './option-kinds.ts';

/** A function of a configuration and options, with those it needs; it rejects with a `Failure`, whatever happens. */
export function configVerb<Given extends readonly [config: unknown, options?: unknown], Result>(
  needed: readonly OptionName[],
  carryOut: (...given: Given) => Promise<Result>,
): (...given: Given) => Promise<Result> {
  return async (...given) => {
    const [config, options = {}] = given;
    return rejecting(options, async () => {
      checkConfig(config);
      checkOptions(options, needed);
      return carryOut(...given);
    });
  };
}

/** A function of options alone, with those it needs; it rejects with a `Failure`, whatever happens. */
export function plainVerb<Given extends readonly [options?: unknown], Result>(
  needed: readonly OptionName[],
  carryOut: (...given: Given) => Promise<Result>,
): (...given: Given) => Promise<Result> {
  return async (...given) => {
    const [options = {}] = given;
    return rejecting(options, async () => {
      checkOptions(options, needed);
      return carryOut(...given);
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

/** A configuration, or what one is yet to be read from. */
function checkConfig(config: unknown): void {
  if (!has(config, 'directory'))
    checkArgument(config, 'warehouse', 'configuration', 'Give what `readConfig` resolves to.');
}

/** Refuses an argument that is no such thing, as it lacks a field of one. */
export function checkArgument(given: unknown, field: string, what: string, hint: string): void {
  if (!has(given, field)) throw new Failure('USAGE_INVALID', `The first argument was no ${what}.`, { hint });
}

const has = (value: unknown, field: string): boolean => typeof value === 'object' && value !== null && field in value;
