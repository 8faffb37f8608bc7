/** Which file ad spend is read from, and in which form: by its extension, and a regular file only; the records of a CSV file. */

import { stat } from 'node:fs/promises';
import { extname } from 'node:path';

import { Failure } from '../errors.ts';
import type { Emit } from '../events.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { checkHeader, UnknownColumns } from './column-names.ts';
import { type CsvRecord, CsvSplitter } from './csv-splitter.ts';
import { ndjsonRecords } from './ndjson-records.ts';
import { parquetRecords } from './parquet-records.ts';
import type { SpendRecord, SpendRecords } from './spend-record.ts';
import { MAX_LINE_CHARACTERS, overlongLine, textChunks } from './text-chunks.ts';

const extensions = ['.csv', '.ndjson', '.parquet'] as const;

/** The records of a spend file, read as they are asked for; throws `USAGE_INVALID` for what is no such file. */
export async function openSpendFile(file: string, warehouse: Warehouse, emit: Emit): Promise<SpendRecords> {
  const given = extname(file).toLowerCase();
  const extension = extensions.find((known) => known === given);
  if (extension === undefined) {
    throw new Failure('USAGE_INVALID', `${file} had the extension "${given}", not ${extensions.join(', ')}.`, {
      facts: { file },
      hint: 'Name the file after its form: .csv, .ndjson or .parquet.',
    });
  }
  await refuseIrregular(file);
  const unknown = new UnknownColumns(file, emit);
  if (extension === '.csv') return csvRecords(file, unknown);
  return extension === '.ndjson' ? ndjsonRecords(file, unknown) : parquetRecords(file, warehouse, unknown);
}

/** A pipe would be read once and a device for ever; neither leaves a place for the rejects. */
async function refuseIrregular(file: string): Promise<void> {
  const found = await stat(file).catch((cause: unknown) => {
    throw new Failure('USAGE_INVALID', `The spend file ${file} could not be found.`, {
      facts: { file },
      hint: 'Give the path of an existing file.',
      cause,
    });
  });
  if (found.isFile()) return;
  throw new Failure('USAGE_INVALID', `${file} was no regular file.`, { facts: { file }, hint: 'Give a regular file.' });
}

/** Reads the file as it is asked for. Throws `SPEND_REJECTED` for a header that is missing or wrong. */
async function* csvRecords(file: string, unknown: UnknownColumns): SpendRecords {
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
  const given = Object.fromEntries(fields.slice(0, header.length).map((field, index) => [header[index] ?? '', field]));
  const wrongCount =
    fields.length === header.length
      ? []
      : [`the line had ${fields.length} ${fields.length === 1 ? 'value' : 'values'} for ${header.length} columns`];
  const defects = defect === null ? wrongCount : [...wrongCount, defect];
  return defects.length === 0 ? { line, given, defects } : { line, given, defects, raw: fields };
}
