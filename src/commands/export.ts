/** `ripen export`: one slice as a file, or on stdout. */

import { exportRows as writeRows } from '../index.ts';
import { countText } from '../terminal/measure.ts';
import { namedMode } from '../terminal/shell.ts';
import { dayOf, given } from './instant.ts';
import { offline } from './verb.ts';
import type { Arguments } from './words.ts';

/** Exports a slice or a table and says how many rows; nothing on stdout when the rows go there. */
export const exportRows = offline(async (config, stated, args: Arguments<'export'>, shell) => {
  const { slice, table, asIs, output, finalOnly = false, format = null } = args;
  const days = { from: given(dayOf, args.from, '--from'), to: given(dayOf, args.to, '--to') };
  const written = { output, format, stream: shell.stdout, mode: namedMode(shell) };
  const exported = await writeRows(config, { ...stated, ...days, ...written, slice, table, asIs, finalOnly });
  if (output === '-') return {};
  const text = `${exported.slice}: ${countText(exported.rows, 'row')} written to ${exported.output}`;
  return { json: { exported }, text };
});
