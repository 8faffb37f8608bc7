/** What a test opens is closed once: by whoever holds it, or with the test that opened it. */

import { onTestFinished, TestRunner } from 'vitest';

/** Closes once, however often it is called; with the test that runs, where one does. What is opened for a file, its `afterAll` closes. */
export function closedOnce(close: () => Promise<void>): () => Promise<void> {
  let closing: Promise<void> | null = null;
  const once = (): Promise<void> => (closing ??= close());
  if (TestRunner.getCurrentTest() !== undefined) onTestFinished(once);
  return once;
}
