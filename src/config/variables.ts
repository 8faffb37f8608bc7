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

/** In the place of a value that is not used: a header, or an address that nobody could reach. */
const UNUSED = 'https://unused.invalid';

/**
 * A text with its variables filled, once: what a variable holds is never searched for variables again. `isUnused`: a variable that is not
 * set, or to nothing, is no mistake, as nobody uses the value.
 */
export function fillVariables(text: string, environment: Environment, isUnused = false): FilledText {
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
    if (isUnused && (value ?? '') === '') return UNUSED;
    if (value === undefined) unset.push(name);
    return value ?? whole;
  });
  const unread = 'holds a variable that cannot be read; allowed: ${NAME} and ${NAME:-default}, and $$ for a $';
  const missing = unset.length === 0 ? null : `environment variable ${unset.join(', ')} is not set; set it`;
  return { text: filled, named, problem: malformed ? unread : missing };
}
