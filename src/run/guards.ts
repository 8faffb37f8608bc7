/** What must hold before a run may ask for anything. Pure, but for the warning it emits. */

import type { Config } from '../config/config.ts';
import { nearest } from '../config/nearest.ts';
import { Failure } from '../errors.ts';
import type { Emit } from '../events.ts';
import type { Slice } from '../model/slice.ts';

/** Clocks in a well-run network differ by less. */
const WORTH_A_WARNING_MS = 5 * 60_000;
/** Beyond this, finality would be decided by a wrong clock. */
const UNTRUSTED_MS = 60 * 60_000;

/** Refuses an instant that has not come: finality would be claimed for values nobody has seen. */
export function checkAsOf(asOf: Date | null, now: Date): void {
  if (asOf === null || asOf <= now) return;
  throw new Failure(
    'AS_OF_IN_FUTURE',
    `The as-of instant ${asOf.toISOString()} was later than the clock, ${now.toISOString()}.`,
    {
      hint: 'Give an instant in the past, or leave --as-of out.',
    },
  );
}

/**
 * Checks this machine's clock against the service's, once, as soon as an answer has told it: warns when it is off by
 * minutes, throws `CLOCK_UNTRUSTED` when it is off by an hour or more. An as-of instant that was given is never held
 * against it.
 */
export function clockCheck(
  asOf: Date | null,
  service: { readonly clockSkewMs: () => number | null },
  emit: Emit,
): () => void {
  let isDue = asOf === null;
  return () => {
    const skewMs = service.clockSkewMs();
    if (!isDue || skewMs === null) return;
    isDue = false;
    checkClock(skewMs, emit);
  };
}

function checkClock(skewMs: number, emit: Emit): void {
  const size = Math.abs(skewMs);
  if (size < WORTH_A_WARNING_MS) return;
  const message = `This machine's clock was ${Math.round(size / 60_000)} minutes ${skewMs > 0 ? 'behind' : 'ahead of'} the service's.`;
  if (size >= UNTRUSTED_MS) {
    throw new Failure('CLOCK_UNTRUSTED', message, {
      facts: { skew_ms: skewMs },
      hint: "Set this machine's clock; nothing was loaded, as nothing could be called final.",
    });
  }
  emit({ type: 'warning', code: 'CLOCK_OFF', slice: null, window: null, message });
}

/** The slices a verb is about; `USAGE_INVALID` naming each that is not configured, and the nearest that is. */
export function chosenSlices(config: Config, names: readonly string[] | null): readonly Slice[] {
  if (names === null) return config.slices;
  const known = config.slices.map(({ name }) => name);
  const unknown = names.filter((name) => !known.includes(name));
  if (unknown.length > 0) {
    const meant = unknown.map((name) => nearest(name, known)).filter((name) => name !== null);
    throw new Failure('USAGE_INVALID', `${config.file} declared no slice named ${unknown.join(', ')}.`, {
      facts: { configured: known.join(', ') },
      hint: meant.length > 0 ? `Did you mean ${meant.join(', ')}?` : `Name a configured slice: ${known.join(', ')}.`,
    });
  }
  return config.slices.filter(({ name }) => names.includes(name));
}

export function deadlineFailure(deadlineMs: number | null): Failure {
  return new Failure(
    'DEADLINE_PASSED',
    `The deadline of ${(deadlineMs ?? 0) / 1000} s passed before every window was loaded.`,
    {
      facts: { deadline_ms: deadlineMs },
      hint: 'Run again: what was loaded is kept, and only the rest is asked for.',
    },
  );
}
