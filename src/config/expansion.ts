/**
 * What a text of the configuration stands for: `${NAME}` and `${NAME:-default}` of the environment, where `$$` is a dollar
 * sign; the names that braces stand for. Pure.
 */

export type Environment = Readonly<Record<string, string | undefined>>;

export interface FilledText {
  readonly text: string;
  /** Whether a variable was named, set or not. */
  readonly named: boolean;
  /** What kept the text from being filled; null when nothing did. */
  readonly problem: string | null;
}

const VARIABLE = /^([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?$/s;

/** What a variable that is not set means: a mistake, one that no default can correct, or nothing, as the value is not used. */
export type Filling = 'value' | 'secret' | 'unused';

/** In the place of a value that is not used: a header, or an address that nobody could reach. */
const UNUSED = 'https://unused.invalid';

/** A text with its variables filled, once: what a variable holds is never searched for variables again. */
export function fillVariables(text: string, environment: Environment, filling: Filling): FilledText {
  const unset: string[] = [];
  let named = false;
  let malformed = false;
  const filled = text.replace(/\$\$|\$\{([^}]*)(\}?)/g, (whole, inside: string | undefined, closing: string) => {
    if (inside === undefined) return '$';
    named = true;
    const [, name, fallback] = VARIABLE.exec(inside) ?? [];
    // What looks like a variable in a default would be cut at its brace.
    if (name === undefined || closing === '' || fallback?.includes('${') === true) {
      malformed = true;
      return whole;
    }
    const value = Object.hasOwn(environment, name) ? environment[name] : undefined;
    // As in a shell, `:-` also stands in for a variable that is set to nothing.
    if (fallback !== undefined) return value === undefined || value === '' ? fallback : value;
    if (filling === 'unused' && (value ?? '') === '') return UNUSED;
    if (value !== undefined) return value;
    unset.push(name);
    return whole;
  });
  return { text: filled, named, problem: problemOf(unset, malformed, filling) };
}

function problemOf(unset: readonly string[], malformed: boolean, filling: Filling): string | null {
  if (malformed) return 'holds a variable that cannot be read; allowed: ${NAME} and ${NAME:-default}, and $$ for a $';
  const [first] = unset;
  if (first === undefined) return null;
  const which = unset.length === 1 ? `variable ${first} is` : `variables ${unset.join(', ')} are`;
  const rather = filling === 'secret' ? '' : ` or write \${${first}:-default}`;
  return `environment ${which} not set; set ${unset.length === 1 ? 'it' : 'them'}${rather}`;
}

/** Whether a brace opens that never closes. */
export function hasOpenBrace(text: string): boolean {
  let depth = 0;
  for (const letter of text) depth = letter === '{' ? depth + 1 : letter === '}' ? Math.max(0, depth - 1) : depth;
  return depth > 0;
}

/**
 * The texts that braces stand for, as in a shell: `{a,b}`, `{0..30}`, `{0..30..5}`, `{a..e}`, one inside another. Braces of a
 * variable, and those around one word, stay. One by one, as there may be any number of them. The text has no open brace.
 */
export function* expandBraces(text: string, from = 0): Generator<string, void> {
  const open = text.indexOf('{', from);
  const [close = -1, ...commas] = open === -1 ? [] : marksOf(text, open);
  if (close === -1) {
    yield text;
    return;
  }
  const isVariable = text[open - 1] === '$';
  const inside = text.slice(open + 1, close);
  const items = isVariable ? null : commas.length > 0 ? splitAt(text, [open, ...commas, close]) : rangeOf(inside);
  if (items === null) {
    yield* expandBraces(text, isVariable ? close + 1 : open + 1);
    return;
  }
  for (const item of items) {
    for (const inner of expandBraces(item)) {
      const before = text.slice(0, open) + inner;
      yield* expandBraces(before + text.slice(close + 1), before.length);
    }
  }
}

/** Where the brace that opens at a place closes, then the commas of its own level. */
function marksOf(text: string, open: number): number[] {
  const commas: number[] = [];
  let depth = 0;
  for (let at = open; at < text.length; at += 1) {
    if (text[at] === '{') depth += 1;
    else if (text[at] === '}') depth -= 1;
    else if (text[at] === ',' && depth === 1) commas.push(at);
    if (depth === 0) return [at, ...commas];
  }
  return [];
}

const splitAt = (text: string, marks: readonly number[]): string[] =>
  marks.slice(1).map((end, index) => text.slice((marks[index] ?? 0) + 1, end));

const RANGE = /^(?:(-?\d{1,15})\.\.(-?\d{1,15})|([A-Za-z])\.\.([A-Za-z]))(?:\.\.(-?\d{1,15}))?$/;

/** The numbers or letters from one end to the other, both included, padded as the ends are; null for what is no range. */
function rangeOf(inside: string): Iterable<string> | null {
  const [, first, last, firstLetter, lastLetter, step = '1'] = RANGE.exec(inside) ?? [];
  if (first !== undefined && last !== undefined) {
    const isPadded = [first, last].some((end) => /^-?0\d/.test(end));
    const width = isPadded ? Math.max(first.length, last.length) : 0;
    return mapped(stepping(Number(first), Number(last), Number(step)), (number) => padded(number, width));
  }
  if (firstLetter === undefined || lastLetter === undefined) return null;
  const codes = stepping(firstLetter.charCodeAt(0), lastLetter.charCodeAt(0), Number(step));
  return mapped(codes, (code) => String.fromCharCode(code));
}

const padded = (number: number, width: number): string =>
  number < 0 ? `-${String(-number).padStart(width - 1, '0')}` : String(number).padStart(width, '0');

function* stepping(first: number, last: number, step: number): Generator<number, void> {
  const by = Math.abs(step) || 1;
  for (let at = 0; at <= Math.abs(last - first); at += by) yield first < last ? first + at : first - at;
}

function* mapped(numbers: Iterable<number>, textOf: (number: number) => string): Generator<string, void> {
  for (const number of numbers) yield textOf(number);
}
