/** The entry of every library function. */

import { asFailure, Failure, textOf } from '../errors.ts';

/** Makes a function reject only with a `Failure`: `INTERRUPTED` once the `signal` of its last argument has aborted. */
export function verb<Given extends readonly unknown[], Result>(
  act: (...given: Given) => Promise<Result>,
): (...given: Given) => Promise<Result> {
  return async (...given) => {
    try {
      return await act(...given);
    } catch (thrown) {
      const options: unknown = given.at(-1);
      const { signal } = options instanceof Object && 'signal' in options ? options : {};
      throw asFailure(thrown, signal instanceof AbortSignal ? signal : undefined);
    }
  };
}

/** Calls a function of the caller. Throws `USAGE_INVALID` if it fails, unless with a `Failure` or after the signal's abort. */
export async function resultOf<Answer>(
  name: string,
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
