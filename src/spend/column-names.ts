/** Which names a spend file may give its columns: lower-case ones, each once, none of the required missing. */

import { nearest } from '../config/nearest.ts';
import { Failure } from '../errors.ts';
import type { Emit } from '../events.ts';
import { rejectColumns, requiredColumns, spendColumns } from './spend-record.ts';

/** A file whose every line brings other columns would warn for ever. */
const MAX_WARNINGS = 20;

const isKnown = (name: string): boolean => [...spendColumns, ...rejectColumns].some((known) => known === name);

/** `SPEND_REJECTED` with all that is wrong with a header: columns missing, misspelt in case or blanks, given twice. */
export function checkHeader(file: string, names: readonly string[]): void {
  const problems = [
    ...names.flatMap((name) => miscased(name) ?? []),
    ...requiredColumns.filter((column) => !names.some((name) => plain(name) === column)).map(missing(names)),
    ...new Set(names.filter((name, index) => names.indexOf(name) !== index).map((name) => `${quoted(name)} twice`)),
  ];
  if (problems.length > 0) throw badColumns(file, problems);
}

/** Refuses a name that is a known one but for case and blanks: its values would be overlooked. */
export function checkCase(file: string, name: string): void {
  const problem = miscased(name);
  if (problem !== null) throw badColumns(file, [problem]);
}

/** Tells of columns nobody asked for, each once. */
export class UnknownColumns {
  readonly #told = new Set<string>();
  readonly #file: string;
  readonly #emit: Emit;

  constructor(file: string, emit: Emit) {
    this.#file = file;
    this.#emit = emit;
  }

  note(name: string): void {
    if (isKnown(name) || this.#told.has(name) || this.#told.size >= MAX_WARNINGS) return;
    this.#told.add(name);
    const meant = nearest(name, spendColumns);
    const message = `${this.#file} had a column ${quoted(name)}, which is not sent${suggested(meant)}.`;
    this.#emit({ type: 'warning', code: 'SPEND_COLUMN_UNKNOWN', slice: null, window: null, message });
  }
}

const plain = (name: string): string => name.trim().toLowerCase();
const quoted = (name: string): string => JSON.stringify(name.slice(0, 100));
const suggested = (meant: string | null): string => (meant === null ? '' : `; did you mean ${meant}?`);

function miscased(name: string): string | null {
  const meant = spendColumns.find((column) => column === plain(name));
  return meant === undefined || meant === name ? null : `${quoted(name)} for ${meant}`;
}

function missing(names: readonly string[]): (column: string) => string {
  return (column) => {
    const near = nearest(
      column,
      names.filter((name) => !isKnown(name)),
    );
    return near === null ? `no ${column}` : `no ${column} (is it ${quoted(near)}?)`;
  };
}

function badColumns(file: string, problems: readonly string[]): Failure {
  return new Failure('SPEND_REJECTED', `The columns of ${file} were wrong: it had ${problems.join(', ')}.`, {
    facts: { file, problems: problems.length },
    hint: `Name the columns ${requiredColumns.join(', ')}, in lower case, separated by commas in CSV; nothing was sent.`,
  });
}
