/** Colour for what people read on a terminal, put on last, so that no text from outside can paint; pure. */

const RESET = '\u001b[0m';

/** The first group of a pattern is what is painted. */
const paints: readonly (readonly [pattern: RegExp, sequence: string])[] = [
  [/^((?:[A-Z]+_)+[A-Z]+|BUG)(?=: )/gm, '\u001b[1;31m'],
  [/((?<=^(?:\S+Z )?)(?:failed|error))(?=: )/gm, '\u001b[1;31m'],
  [/((?<=^(?:\S+Z )?)warning)(?=: )/gm, '\u001b[33m'],
  [/((?<=^ *)hint)(?=: )/gm, '\u001b[36m'],
  [/^(All is well\.)/gm, '\u001b[32m'],
];

/** The text with its codes, warnings, hints and verdict painted. */
export function coloured(text: string): string {
  return paints.reduce((painted, [pattern, sequence]) => painted.replaceAll(pattern, `${sequence}$1${RESET}`), text);
}

/** Whether a stream is to be painted: `NO_COLOR` forbids it (no-color.org), `FORCE_COLOR` asks for it, else terminals are. */
export function wantsColour(environment: Readonly<Record<string, string | undefined>>, isTerminal: boolean): boolean {
  const { NO_COLOR: never = '', FORCE_COLOR: always = '', TERM: terminal } = environment;
  if (never !== '') return false;
  return always === '' ? isTerminal && terminal !== 'dumb' : always !== '0';
}
