/** Work of which so much may be under way at once. */

export interface Lanes {
  /** Begins work as soon as a lane is free. Throws the first failure of what was begun before. */
  begin(work: () => Promise<void>): Promise<void>;
  /** Waits for everything that was begun; throws the first failure. */
  finish(): Promise<void>;
  /** Waits for everything that was begun, however it ends. */
  settle(): Promise<void>;
}

/** Opens so many lanes, at least one. */
export function openLanes(atOnce: number): Lanes {
  const running = new Set<Promise<void>>();
  const thrown: unknown[] = [];
  const throwFirst = (): void => {
    if (thrown.length > 0) throw thrown[0];
  };
  const settle = async (): Promise<void> => {
    await Promise.all(running);
  };
  return {
    async begin(work) {
      while (running.size >= atOnce) await Promise.race(running);
      throwFirst();
      const mine: Promise<void> = work()
        .catch((error: unknown) => {
          thrown.push(error);
        })
        .finally(() => {
          running.delete(mine);
        });
      running.add(mine);
    },
    async finish() {
      await settle();
      throwFirst();
    },
    settle,
  };
}
