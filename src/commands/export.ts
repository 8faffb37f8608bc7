/** `ripen export`: one slice as a file, or on stdout. */

import { Failure } from '../errors.ts';
import { exportRows as writeRows } from '../index.ts';
import { exportFormats, type ExportFormat } from '../publish/export.ts';
import { countText } from '../terminal/measure.ts';
import { jsonLine } from '../terminal/printable.ts';
import { namedMode, type GlobalArguments, type Shell } from '../terminal/shell.ts';
import { dayOf } from './instant.ts';
import { withConfig } from './verb.ts';

interface ExportArguments extends GlobalArguments {
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

/** Exports a slice or a table and prints how many rows; prints nothing on stdout when the rows go there. */
export async function exportRows(args: ExportArguments, shell: Shell): Promise<number> {
  const { slice, table, asIs, output, finalOnly = false } = args;
  const days = {
    from: args.from === undefined ? null : dayOf(args.from, '--from'),
    to: args.to === undefined ? null : dayOf(args.to, '--to'),
  };
  const format = formatNamed(args.format);
  const request = {
    slice,
    table,
    asIs,
    output,
    format,
    ...days,
    finalOnly,
    stream: shell.stdout,
    mode: namedMode(shell),
  };
  const exported = await withConfig(args, shell, true, async (config, stated) =>
    writeRows(config, { ...stated, ...request }),
  );
  const text = `${exported.slice}: ${countText(exported.rows, 'row')} written to ${exported.output}`;
  if (output !== '-') shell.print(args.json ? jsonLine({ exported }) : text);
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
