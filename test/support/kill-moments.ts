/** When to kill a run: moments drawn from what a run that was left alone did, and when. Pure; a seed fixes them. */

import { randomFrom } from './random.ts';

/** What a run did that nobody disturbed. */
export interface Timeline {
  /** Milliseconds from the start to each line of its log, and to its end. */
  readonly linesAtMs: readonly number[];
  readonly ms: number;
  /** The kind of each of its steps on databases and files, in order. */
  readonly steps: readonly string[];
}

/** So long after so many lines, or right before a step, numbered from 1. */
export type Moment =
  | { readonly after: 'line'; readonly line: number; readonly thenMs: number }
  | { readonly before: 'step'; readonly step: number; readonly kind: string };

/** One instant in each of as many equal stretches of the timeline, said by the log so that a slow machine meets it too. */
export function drawInstants(count: number, { linesAtMs, ms }: Timeline, seed: number): Moment[] {
  const random = randomFrom(seed);
  return Array.from({ length: count }, (_, stretch) => {
    const atMs = ((stretch + random()) / count) * ms;
    const line = linesAtMs.filter((lineAtMs) => lineAtMs <= atMs).length;
    return { after: 'line', line, thenMs: atMs - (linesAtMs[line - 1] ?? 0) };
  });
}

/** Steps of kinds as different as can be: no kind comes again before every other was drawn. */
export function drawSteps(count: number, { steps }: Timeline, seed: number): Moment[] {
  const random = randomFrom(seed);
  const oneOf = <T>(choices: readonly T[]): T | undefined =>
    choices[Math.floor(random() * choices.length)];
  let left: string[] = [];
  return Array.from({ length: count }, () => {
    if (left.length === 0) left = [...new Set(steps)];
    const kind = oneOf(left) ?? '';
    left = left.filter((other) => other !== kind);
    const step = oneOf([...steps.keys()].filter((index) => steps[index] === kind)) ?? 0;
    return { before: 'step', step: step + 1, kind };
  });
}

export function momentText(moment: Moment): string {
  return 'after' in moment
    ? `${moment.thenMs.toFixed(0)} ms after line ${moment.line} of its log`
    : `before its step ${moment.step}, "${moment.kind}"`;
}
