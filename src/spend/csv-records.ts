/** The lines of a CSV file, under its header. */

import { Failure } from '../errors.ts';
import { checkHeader, type UnknownColumns } from './column-names.ts';
import { CsvSplitter, type CsvRecord } from './csv-splitter.ts';
import type { SpendRecord, SpendRecords } from './spend-record.ts';
import { MAX_LINE_CHARACTERS, overlongLine, textChunks } from './text-chunks.ts';

/** Reads the file as it is asked for. Throws `SPEND_REJECTED` for a header that is missing or wrong. */
export async function* csvRecords(file: string, unknown: UnknownColumns): SpendRecords {
  let header: readonly string[] | null = null;
  for await (const record of splitRecords(file)) {
    if (header === null) {
      header = record.fields;
      checkHeader(file, header);
      for (const name of header) unknown.note(name);
    } else yield underHeader(header, record);
  }
  if (header !== null) return;
  throw new Failure('SPEND_REJECTED', `${file} was empty: it had no header.`, {
    facts: { file },
    hint: 'Write the names of the columns into the first line; nothing was sent.',
  });
}

async function* splitRecords(file: string): AsyncGenerator<CsvRecord, void> {
  const splitter = new CsvSplitter();
  for await (const chunk of textChunks(file)) {
    yield* splitter.push(chunk);
    const { line, characters } = splitter.pending;
    if (characters > MAX_LINE_CHARACTERS) throw overlongLine(file, line);
  }
  yield* splitter.end();
}

function underHeader(header: readonly string[], { line, fields, defect }: CsvRecord): SpendRecord {
  const named = fields.slice(0, header.length).map((field, index): [string, unknown] => [header[index] ?? '', field]);
  const surplus: [string, unknown][] = fields.length > header.length ? [['surplus', fields.slice(header.length)]] : [];
  const given = Object.fromEntries([...named, ...surplus]);
  const wrongCount =
    fields.length === header.length
      ? []
      : [`the line had ${fields.length} ${fields.length === 1 ? 'value' : 'values'} for ${header.length} columns`];
  return { line, given, defects: defect === null ? wrongCount : [...wrongCount, defect] };
}
