/** Rows that hold what their columns do not take, each with the reasons and what was requested of it, as JSON. */

import { type BodyWindow, QUOTE, readMembers, skipValue, STOPPED, textIn } from './json-tokens.ts';
import { ATTR_DEPENDENCY, REJECTED } from './reading.ts';
import { TextColumn } from './text-column.ts';

interface Reason {
  readonly metric: string;
  readonly reason: string;
}

/** NULL for every other row. */
export class RejectedColumn extends TextColumn {
  readonly #requested: ReadonlySet<string>;
  #reasons: Reason[] = [];
  /** Whether any row so far is one. */
  hasAny = false;

  constructor(requested: readonly string[]) {
    super(REJECTED, 'value');
    this.#requested = new Set([...requested, ATTR_DEPENDENCY]);
  }

  /** Begins a row, perhaps once more. */
  begin(): void {
    if (this.#reasons.length > 0) this.#reasons = [];
  }

  /** Notes that a metric of the row does not take a text. */
  note(metric: string, text: string, because: string): void {
    this.#reasons.push({ metric, reason: `${metric}: ${because}: ${text}` });
  }

  /** Ends the row that begins at `at`. */
  end(body: BodyWindow, at: number, row: number): void {
    if (this.#reasons.length === 0) return;
    this.hasAny = true;
    this.put(row, JSON.stringify({ row: this.#rowAt(body, at), reasons: this.#reasons }));
  }

  /** What was requested of a whole row, as JSON: values as texts, and the object of ids as it is. */
  #rowAt(body: BodyWindow, at: number): string {
    const members: string[] = [];
    readMembers(body, at, (name, value) => {
      const end = skipValue(body, value);
      const written = end === STOPPED ? null : textIn(body, value, end);
      if (written === null || !this.#requested.has(name)) return end;
      const isText = body.bytes[value] === QUOTE || written === 'null' || name === ATTR_DEPENDENCY;
      members.push(`${JSON.stringify(name)}:${isText ? written : JSON.stringify(written)}`);
      return end;
    });
    return `{${members.join(',')}}`;
  }
}
