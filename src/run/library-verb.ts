/** The entry of every library function. */

import { asFailure } from '../errors.ts';

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
