/** Slices as the command line names them. */

import type { Config } from '../config/config.ts';
import { nearest } from '../config/nearest.ts';
import { Failure } from '../errors.ts';

/** The names again, or null for all; `USAGE_INVALID` naming each that is not configured, and the nearest that is. */
export function namedSlices(config: Config, names: readonly string[] | undefined): readonly string[] | null {
  if (names === undefined || names.length === 0) return null;
  const configured = config.slices.map((slice) => slice.name);
  const unknown = names.filter((name) => !configured.includes(name));
  if (unknown.length === 0) return names;
  const meant = unknown.map((name) => nearest(name, configured)).filter((name) => name !== null);
  throw new Failure('USAGE_INVALID', `${config.file} declared no slice named ${unknown.join(', ')}.`, {
    facts: { configured: configured.join(', ') },
    hint: meant.length > 0 ? `Did you mean ${meant.join(', ')}?` : `Name a configured slice: ${configured.join(', ')}.`,
  });
}
