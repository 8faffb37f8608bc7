/** Work on many things a few at a time, and work that must not overlap. */

/**
 * Acts on every item, at most so many at once, in order of the items. After a failure nothing more is begun; what was
 * begun is waited for, then the first failure is thrown.
 */
export async function eachInParallel<T>(
  items: readonly T[],
  atOnce: number,
  act: (item: T) => Promise<void>,
): Promise<void> {
  const queue = items.values();
  const thrown: unknown[] = [];
  const worker = async (): Promise<void> => {
    for (const item of queue) {
      try {
        await act(item);
      } catch (error) {
        thrown.push(error);
      }
      if (thrown.length > 0) return;
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, worker));
  if (thrown.length > 0) throw thrown[0];
}

/** Runs one piece of work after the other, in the order they came, whether or not those before it failed. */
export type Turn = <T>(work: () => Promise<T>) => Promise<T>;

/** The warehouse has one connection: what belongs to another's transaction must not slip in between. */
export function takeTurns(): Turn {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const mine = last.then(work, work);
    last = mine.catch(() => null);
    return mine;
  };
}
