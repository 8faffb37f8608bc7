/** One signal that aborts with the first of several; `AbortSignal.any` of Node 20 never lets go of its sources. */

import { setMaxListeners } from 'node:events';

export interface LinkedSignal {
  readonly signal: AbortSignal;
  /** Lets go of the sources; call it when the work is over. */
  unlink(): void;
}

/** Links signals: the result aborts with the reason of whichever aborts first. */
export function linkSignals(...sources: readonly AbortSignal[]): LinkedSignal {
  const controller = new AbortController();
  const listeners = sources.map((source) => {
    // One listener a call that waits, each removed: hundreds are no leak.
    setMaxListeners(0, source);
    const abort = (): void => controller.abort(source.reason);
    if (source.aborted) abort();
    source.addEventListener('abort', abort, { once: true });
    return { source, abort };
  });
  return {
    signal: controller.signal,
    unlink: () => {
      for (const { source, abort } of listeners) source.removeEventListener('abort', abort);
    },
  };
}
