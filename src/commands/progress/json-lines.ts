/** One JSON object per event, for a log collector. */

import type { RunEvent } from '../../events.ts';
import { jsonLine, type JsonLine } from '../printable.ts';

/** The event's own fields after `at`, its instant in UTC. */
export function jsonEventLine(event: RunEvent, at: Date): JsonLine {
  return jsonLine({ at: at.toISOString(), ...event });
}
