/** `ripen export`: one slice as a file, or on stdout. */

import type { Day } from '../model/calendar.ts';
import { Failure } from '../errors.ts';
import { exportRows as writeRows } from '../index.ts';
import { exportFormats, type ExportFormat } from '../publish/export-sql.ts';
import { countText } from '../terminal/measure.ts';
import { namedMode, type GlobalArguments, type Shell } from '../terminal/shell.ts';
import { dayOf } from './instant.ts';
import { printResult, withConfig } from './verb.ts';

export interface ExportArguments extends GlobalArguments {
  readonly slice: string | undefined;
  readonly table: string | undefined;
  readonly asIs: boolean;
  readonly output: string;
  readonly format: string | undefined;
  readonly from: string | undefined;
  readonly to: string | undefined;
  readonly finalOnly: boolean | undefined;
  readonly lockWait: string;
}

/** Exports a slice or a table and says how many rows; says nothing on stdout when the rows go there. */
export async function exportRows(args: ExportArguments, shell: Shell): Promise<number> {
  const options = {
    slice: args.slice,
    table: args.table,
    asIs: args.asIs,
    output: args.output,
    stream: shell.stdout,
    format: formatNamed(args.format),
    from: dayNamed(args.from, '--from'),
    to: dayNamed(args.to, '--to'),
    finalOnly: args.finalOnly ?? false,
    mode: namedMode(shell),
  };
  const exported = await withConfig(args, shell, true, async (config, stated) =>
    writeRows(config, { ...stated, ...options }),
  );
  if (args.output === '-') return 0;
  const { slice, output, rows } = exported;
  printResult(args, shell, { exported }, () => `${slice}: ${countText(rows, 'row')} written to ${output}`);
  return 0;
}

function formatNamed(text: string | undefined): ExportFormat | null {
  if (text === undefined) return null;
  const format = exportFormats.find((known) => known === text);
  if (format !== undefined) return format;
  throw new Failure('USAGE_INVALID', `The format ${text} was not known; there are ${exportFormats.join(', ')}.`, {
    hint: 'Use one of them, or leave --format out and let the extension of --output decide.',
  });
}

const dayNamed = (text: string | undefined, option: string): Day | null =>
  text === undefined ? null : dayOf(text, option);
