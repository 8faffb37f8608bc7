/**
 * CSV text → records, by RFC 4180: commas, double quotes, CRLF or LF, line breaks inside quotes.
 *
 * Own, because a line that is wrong has to be told with the line it begins on, and must not take the next one with it: after
 * a stray quote csv-parse drops what follows up to the next quote, and it knows where a record ends; DuckDB's reader does not
 * count blank lines. Works on any division into chunks.
 */

export interface CsvRecord {
  /** Line the record begins on, from 1. */
  readonly line: number;
  readonly fields: readonly string[];
  /** What is wrong with its quotes. */
  readonly defect: string | null;
}

type State = 'field start' | 'bare' | 'quoted' | 'quote in quoted';

/** What ends a run of plain characters inside quotes, and outside. */
const QUOTE = /"/g;
const MARK = /[",\r\n]/g;

/** Where the next mark stands from a position on; the text's length when there is none. */
function nextMark(text: string, from: number, mark: RegExp): number {
  mark.lastIndex = from;
  return mark.exec(text)?.index ?? text.length;
}

const STRAY = 'a value went on after its closing quote';
const OPEN = 'a quote was never closed: all that follows it was read as one value';

export class CsvSplitter {
  #state: State = 'field start';
  #line = 1;
  #startLine = 1;
  #fields: string[] = [];
  #field = '';
  #defect: string | null = null;
  #isAfterReturn = false;

  /** The record that is being read: the line it began on and its characters so far. */
  get pending(): { readonly line: number; readonly characters: number } {
    const characters = this.#fields.reduce((sum, field) => sum + field.length, this.#field.length);
    return { line: this.#startLine, characters };
  }

  /** The records that a piece of text completes. */
  *push(text: string): Generator<CsvRecord, void> {
    for (let at = 0; at < text.length;) {
      const isSecondHalf = this.#isAfterReturn && text[at] === '\n';
      this.#isAfterReturn = false;
      if (isSecondHalf) {
        at += 1;
        continue;
      }
      const end = nextMark(text, at, this.#state === 'quoted' ? QUOTE : MARK);
      if (end > at) this.#append(text.slice(at, end));
      const mark = text[end];
      at = end + 1;
      if (mark === '\n' || mark === '\r') {
        this.#isAfterReturn = mark === '\r';
        this.#line += 1;
        yield* this.#take();
      } else if (mark !== undefined) this.#meet(mark);
    }
  }

  /** The last record, when the text did not end in a line break. */
  *end(): Generator<CsvRecord, void> {
    if (this.#state === 'quoted') this.#defect = OPEN;
    yield* this.#take();
  }

  #append(run: string): void {
    this.#field += run;
    if (this.#state === 'quoted') this.#line += run.split('\n').length - 1;
    else {
      if (this.#state === 'quote in quoted') this.#defect = STRAY;
      this.#state = 'bare';
    }
  }

  /** A comma, or a quote. */
  #meet(mark: string): void {
    if (mark === ',') {
      this.#fields.push(this.#field);
      this.#field = '';
      this.#state = 'field start';
    } else if (this.#state === 'quoted') this.#state = 'quote in quoted';
    else if (this.#state === 'field start') this.#state = 'quoted';
    else {
      this.#field += '"';
      if (this.#state === 'quote in quoted') this.#state = 'quoted';
    }
  }

  #take(): CsvRecord[] {
    const fields = [...this.#fields, this.#field];
    const record = { line: this.#startLine, fields, defect: this.#defect };
    this.#startLine = this.#line;
    this.#fields = [];
    this.#field = '';
    this.#defect = null;
    this.#state = 'field start';
    // A blank line is no record.
    return fields.length === 1 && fields[0]?.trim() === '' && record.defect === null ? [] : [record];
  }
}
