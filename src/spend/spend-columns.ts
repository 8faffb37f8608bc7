/** Which names a spend file may give its columns: lower-case ones, each once, none of the required missing. */

import { nearest } from '../config/nearest.ts';
import { Failure } from '../errors.ts';
import type { Emit } from '../events.ts';

/** The columns every line must fill. */
export const requiredColumns = ['cost_id', 'cost_type', 'cost_currency', 'cost_amount', 'tag'] as const;

/** All columns that mean something, in the order they are documented; `engaged_at` is checked where it is given, never sent. */
export const spendColumns = [...requiredColumns, 'engaged_at'] as const;

export type SpendColumn = (typeof spendColumns)[number];

/** What a rejects file adds; such a file can be corrected and sent as it is. */
export const rejectColumns: readonly string[] = ['line', 'reasons'];

/** A file whose every line brings other columns would warn for ever. */
const MAX_WARNINGS = 20;

const isKnown = (name: string): boolean => [...spendColumns, ...rejectColumns].includes(name);
const quoted = (name: string): string => JSON.stringify(name.slice(0, 100));
const plain = (name: string): string => name.trim().toLowerCase();

/** Checks the columns of one file; a name that is a known one but for its form is refused, as its values would be overlooked. */
export class SpendColumns {
  readonly #warned = new Set<string>();
  readonly #file: string;
  readonly #emit: Emit;

  constructor(file: string, emit: Emit) {
    this.#file = file;
    this.#emit = emit;
  }

  /** Throws `SPEND_REJECTED` with all that is wrong with a header. */
  checkHeader(names: readonly string[]): void {
    this.#refuse(this.#file, [
      ...names.flatMap(misspelt),
      ...requiredColumns.filter((column) => !names.some((name) => plain(name) === column)).map(missingFrom(names)),
      ...new Set(names.filter((name, index) => names.indexOf(name) !== index).map((name) => `${quoted(name)} twice`)),
    ]);
    this.#warnOfUnknown(names);
  }

  /** Throws `SPEND_REJECTED` for a key of a line that is a column in wrong case. */
  checkKeys(line: number, names: readonly string[]): void {
    this.#refuse(`line ${line} of ${this.#file}`, names.flatMap(misspelt));
    this.#warnOfUnknown(names);
  }

  #warnOfUnknown(names: readonly string[]): void {
    for (const name of names) {
      if (isKnown(name) || this.#warned.has(name) || this.#warned.size >= MAX_WARNINGS) continue;
      this.#warned.add(name);
      const meant = nearest(name, spendColumns);
      const suggestion = meant === null ? '' : `; did you mean ${meant}?`;
      const message = `${this.#file} had a column ${quoted(name)}, which is not sent${suggestion}.`;
      this.#emit({ type: 'warning', code: 'SPEND_COLUMN_UNKNOWN', slice: null, window: null, message });
    }
  }

  #refuse(where: string, problems: readonly string[]): void {
    if (problems.length === 0) return;
    throw new Failure('SPEND_REJECTED', `The columns of ${where} were wrong: it had ${problems.join(', ')}.`, {
      facts: { file: this.#file, problems: problems.length },
      hint: `Name the columns ${requiredColumns.join(', ')}, in lower case, separated by commas in CSV; nothing was sent.`,
    });
  }
}

function misspelt(name: string): string[] {
  const meant = spendColumns.find((column) => column === plain(name));
  return meant === undefined || meant === name ? [] : [`${quoted(name)} for ${meant}`];
}

function missingFrom(names: readonly string[]): (column: string) => string {
  const unknown = names.filter((name) => !isKnown(name));
  return (column) => {
    const near = nearest(column, unknown);
    return near === null ? `no ${column}` : `no ${column} (is it ${quoted(near)}?)`;
  };
}
