/** `${NAME}` and `${NAME:-default}` in a text, filled from the environment; `$$` is a dollar sign. */

export type Environment = Readonly<Record<string, string | undefined>>;

export interface FilledText {
  readonly text: string;
  /** Whether a variable was named, set or not. */
  readonly named: boolean;
  /** What kept the text from being filled; null when nothing did. */
  readonly problem: string | null;
}

const VARIABLE = /^([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?$/s;

/** A text with its variables filled, once: what a variable holds is never searched for variables again. */
export function fillVariables(text: string, environment: Environment): FilledText {
  const unset: string[] = [];
  let named = false;
  let malformed = false;
  const filled = text.replace(/\$\$|\$\{([^}]*)(\}?)/g, (whole, inside: string | undefined, closing: string) => {
    if (inside === undefined) return '$';
    named = true;
    const [, name, fallback] = VARIABLE.exec(inside) ?? [];
    if (name === undefined || closing === '') {
      malformed = true;
      return whole;
    }
    const value = Object.hasOwn(environment, name) ? environment[name] : undefined;
    // As in a shell, `:-` also stands in for a variable that is set to nothing.
    if (fallback !== undefined) return value === undefined || value === '' ? fallback : value;
    if (value === undefined) unset.push(name);
    return value ?? whole;
  });
  return { text: filled, named, problem: problemOf(unset, malformed) };
}

function problemOf(unset: readonly string[], malformed: boolean): string | null {
  if (malformed) return 'holds a variable that cannot be read; allowed: ${NAME} and ${NAME:-default}, and $$ for a $';
  const [first] = unset;
  if (first === undefined) return null;
  const which = unset.length === 1 ? `variable ${first} is` : `variables ${unset.join(', ')} are`;
  return `environment ${which} not set; set it or write \${${first}:-default}`;
}
