/** Fills `${NAME}` and `${NAME:-default}` in a text from the environment; `$$` becomes a dollar sign. Pure. */

export type Environment = Readonly<Record<string, string | undefined>>;

const VARIABLE = /^([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?$/s;

/** Valid as a header and as an address, which leads nowhere. */
const UNUSED = 'https://unused.invalid';

/** Fills variables once: their values are not searched for more. */
export function fillVariables(text: string, environment: Environment, isUnused = false) {
  const unset: string[] = [];
  let isNamed = false;
  let malformed = false;
  const filled = text.replace(
    /\$\$|\$\{([^}]*)(\}?)/g,
    (whole, inside: string | undefined, closing: string) => {
      if (inside === undefined) return '$';
      isNamed = true;
      const [, name, fallback] = VARIABLE.exec(inside) ?? [];
      // A variable within a default would be cut off at its brace.
      if (name === undefined || closing === '' || fallback?.includes('${') === true) {
        malformed = true;
        return whole;
      }
      const value = Object.hasOwn(environment, name) ? environment[name] : undefined;
      // As in a shell, the default of `:-` also replaces a variable that is set to nothing.
      if (fallback !== undefined) return value === undefined || value === '' ? fallback : value;
      if (isUnused && (value ?? '') === '') return UNUSED;
      if (value === undefined) unset.push(name);
      return value ?? whole;
    },
  );
  const unread =
    'holds a variable that cannot be read; allowed: ${NAME} and ${NAME:-default}, and $$ for a $';
  const missing =
    unset.length === 0 ? null : `environment variable ${unset.join(', ')} is not set; set it`;
  return { text: filled, isNamed, problem: malformed ? unread : missing };
}
