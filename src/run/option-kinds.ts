/** What each option of the library's functions must be; an option's name means the same wherever it stands. */

import { Failure } from '../errors.ts';
import { parseDay } from '../model/calendar.ts';
import { catalogSections } from '../model/catalog.ts';

interface Kind {
  readonly is: (value: unknown) => boolean;
  /** What it must be, in words that follow "as". */
  readonly form: string;
}

const isText = (value: unknown): value is string => typeof value === 'string';
const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;
const isDay = (value: unknown): value is string => isText(value) && parseDay(value) !== null;
const isDays = (value: unknown): boolean =>
  isObject(value) &&
  'start' in value &&
  'end' in value &&
  isDay(value.start) &&
  isDay(value.end) &&
  value.start < value.end;
const isInstant = (value: unknown): boolean => value instanceof Date && !Number.isNaN(value.getTime());
const isWait = (value: unknown): boolean => typeof value === 'number' && value >= 0;

const MOST_RIGHTS = 0o777;
const MOST_PORT = 65_535;

const text: Kind = { is: isText, form: 'a text' };
const flag: Kind = { is: (value) => typeof value === 'boolean', form: 'true or false' };
const verb: Kind = { is: (value) => typeof value === 'function', form: 'a function' };
const day: Kind = { is: (value) => value === null || isDay(value), form: 'a day, as `parseDay` gives it, or null' };
const instant: Kind = { is: (value) => value === null || isInstant(value), form: 'a Date that is an instant, or null' };
const wait: Kind = { is: (value) => value === null || isWait(value), form: 'milliseconds from 0 on, or null' };

/** A whole number, at most one that is exact. */
const whole = (least: number, most = Number.MAX_SAFE_INTEGER): Kind => ({
  is: (value) => typeof value === 'number' && Number.isSafeInteger(value) && value >= least && value <= most,
  form: most < Number.MAX_SAFE_INTEGER ? `a whole number from ${least} to ${most}` : `a whole number from ${least} on`,
});

/** An object of these fields, of which any may lack. */
const shape = (fields: Readonly<Record<string, Kind>>): Kind => ({
  is: (value) =>
    isObject(value) &&
    Object.entries(value).every(([name, part]) => Object.hasOwn(fields, name) && fields[name]?.is(part) === true),
  form: `an object of ${Object.entries(fields)
    .map(([name, { form }]) => `${name} (${form})`)
    .join(', ')}`,
});

const world = shape({
  seed: whole(0),
  apps: whole(1),
  partners: whole(1),
  links: whole(0),
  rowsPerDay: whole(1),
});

const kinds = {
  acceptLoss: flag,
  agree: { is: (value) => value === true || verb.is(value), form: 'true or a function' },
  app: text,
  asIs: flag,
  asOf: instant,
  before: day,
  costCredential: text,
  costData: flag,
  days: { is: isDays, form: 'days, as `parseDay` gives them, with a start before the end' },
  deadlineMs: wait,
  directory: text,
  dryRun: flag,
  emit: verb,
  engine: text,
  environment: { is: isObject, form: 'an object of variables and their texts' },
  evenIfTaken: flag,
  file: text,
  finalOnly: flag,
  format: { is: (value) => value === null || isText(value), form: 'the name of a format, or null' },
  from: day,
  link: text,
  lockWaitMs: wait,
  metricsFile: { is: (value) => value === null || isText(value), form: 'a path, or null' },
  mode: { is: whole(0, MOST_RIGHTS).is, form: 'rights of a file, from 0 to 0o777' },
  name: text,
  nights: whole(1),
  now: instant,
  offline: flag,
  output: text,
  parent: text,
  partner: text,
  port: whole(0, MOST_PORT),
  resendUnknown: flag,
  section: {
    is: (value) => catalogSections.some((section) => section === value),
    form: `one of ${catalogSections.join(', ')}`,
  },
  signal: { is: (value) => value instanceof AbortSignal, form: 'an AbortSignal' },
  simulator: flag,
  slice: text,
  slices: { is: (value) => Array.isArray(value) && value.every(isText), form: 'a list of names' },
  account: { is: isObject, form: 'an object with the account of a first configuration' },
  stream: { is: (value) => isObject(value) && 'write' in value, form: 'a stream to write to' },
  table: text,
  tell: verb,
  to: day,
  token: text,
  word: text,
  world,
} as const satisfies Record<string, Kind>;

export type OptionName = keyof typeof kinds;

/** Throws `USAGE_INVALID` with every option that is not what it must be, or that is needed and not there. */
export function checkOptions(options: unknown, needed: readonly OptionName[]): void {
  const given = isObject(options) ? new Map<string, unknown>(Object.entries(options)) : null;
  if (given === null) throw refusal([`The options were ${shown(options)}.`], 'Give an object.');
  const wrong = Object.entries(kinds).flatMap(([name, { is, form }]) => {
    const value = given.get(name);
    const mayLack = !needed.some((option) => option === name);
    return (value === undefined && mayLack) || is(value) ? [] : [{ name, form, said: `${name} was ${shown(value)}.` }];
  });
  if (wrong.length === 0) return;
  const hint = wrong.map(({ name, form }) => `${name} as ${form}`).join('; ');
  throw refusal(
    wrong.map(({ said }) => `The option ${said}`),
    `Give ${hint}.`,
  );
}

const refusal = (said: readonly string[], hint: string): Failure =>
  new Failure('USAGE_INVALID', said.join(' '), { hint });

/** A value in words; of one with parts only what it is, as they may be secret. */
function shown(value: unknown): string {
  if (value === undefined) return 'not given';
  if (isText(value)) return JSON.stringify(value);
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'an invalid Date' : value.toISOString();
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'number' || typeof value === 'boolean' || value === null) return String(value);
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}
