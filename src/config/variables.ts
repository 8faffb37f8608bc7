/** What a text of the configuration becomes: `${NAME}` and `${NAME:-default}` of the environment filled, `$$` a dollar sign. Pure. */

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
    if (value === undefined) unset.push(name);
    return value ?? whole;
  });
  return { text: filled, named, problem: problemOf(unset, malformed, filling) };
}

function problemOf(unset: readonly string[], malformed: boolean, filling: Filling): string | null {
  if (malformed) return 'holds a variable that cannot be read; allowed: ${NAME} and ${NAME:-default}, and $$ for a $';
  const [first] = unset;
  if (first === undefined) return null;
  const rather = filling === 'secret' ? '' : ` or write \${${first}:-default}`;
  if (unset.length === 1) return `environment variable ${first} is not set; set it${rather}`;
  return `environment variables ${unset.join(', ')} are not set; set them${rather}`;
}
