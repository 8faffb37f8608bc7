/** Report bodies on disk, made once: windows of 31 days, 8 dimensions, 12 metrics, with totals that are exactly right. */

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';

import { addDays, day, daysIn, lastDay, type Day, type DayInterval } from '../../../src/model/calendar.ts';
import { fraction, mix } from '../../../src/simulator/world/hash.ts';

/** What ripen asks for first, of a slice it knows nothing of. */
export const WINDOW_DAYS = 31;
export const FIRST_DAY = day('2010-01-01');

export const dimensions = [
  'day',
  'app_token',
  'app',
  'partner_id',
  'partner_name',
  'network',
  'os_name',
  'country_code',
] as const;

/** How a metric is written: counts, money with three places, ratios that do not add up. */
export const metrics = {
  installs: 'count',
  clicks: 'count',
  impressions: 'count',
  sessions: 'count',
  cohort_size_d7: 'count',
  cost: 'money',
  network_cost: 'money',
  revenue: 'money',
  all_revenue_total_d7: 'money',
  all_revenue_total_d30: 'money',
  ecpi: 'ratio',
  roas_d30: 'ratio',
} as const;

type Form = (typeof metrics)[keyof typeof metrics];

const forms: readonly (readonly [string, Form])[] = Object.entries(metrics);

const THOUSANDTHS = 1000;
const APPS = 4;
const NETWORKS = 20;
const countries = ['US', 'DE', 'FR', 'BR', 'JP', 'IN', 'GB', 'MX', 'ES', 'IT', 'PL', 'SE'];

export interface Corpus {
  readonly directory: string;
  readonly windows: number;
  /** Bodies that stand for all the windows by turns, before their dates are put in. */
  readonly templates: number;
  readonly rows: number;
  readonly gzipBytes: number;
  readonly plainBytes: number;
  /** Compressed, one per window, in order. */
  readonly files: readonly string[];
  readonly days: DayInterval;
}

export interface CorpusRequest {
  readonly directory: string;
  readonly windows: number;
  readonly rowsPerDay: number;
}

const TEMPLATES = 4;
const FASTEST = { level: 1 } as const;

const compress = promisify(gzip);

/** Writes the templates and one compressed body per window. */
export async function makeCorpus({ directory, windows, rowsPerDay }: CorpusRequest): Promise<Corpus> {
  await mkdir(directory, { recursive: true });
  const templates = Array.from({ length: Math.min(TEMPLATES, windows) }, (_, seed) => templateOf(seed, rowsPerDay));
  for (const [index, template] of templates.entries()) {
    await writeFile(join(directory, `template.${index}.json`), template);
  }
  const files: string[] = [];
  let [gzipBytes, plainBytes] = [0, 0];
  for (let window = 0; window < windows; window += 1) {
    const plain = withDates(templates[window % templates.length] ?? '', addDays(FIRST_DAY, window * WINDOW_DAYS));
    const body = await compress(plain, FASTEST);
    const file = join(directory, `window.${window}.json.gz`);
    await writeFile(file, body);
    files.push(file);
    gzipBytes += body.length;
    plainBytes += plain.length;
  }
  return {
    directory,
    windows,
    templates: templates.length,
    rows: windows * WINDOW_DAYS * rowsPerDay,
    gzipBytes,
    plainBytes,
    files,
    days: daysOfWindows(windows),
  };
}

/** The days that so many windows cover. */
export function daysOfWindows(windows: number): DayInterval {
  return { start: FIRST_DAY, end: addDays(FIRST_DAY, windows * WINDOW_DAYS) };
}

/** Days in a template are numbers of the same width as a date, so that a date can be written over them. */
const placeholder = (index: number): string => `##########${index}`.slice(-10);

function withDates(template: string, first: Day): string {
  const days = daysIn({ start: first, end: addDays(first, WINDOW_DAYS) });
  return template.replaceAll(
    /#{8,9}(\d{1,2})/g,
    (_, index: string) => days[Number(index)] ?? lastDay({ start: first, end: addDays(first, 1) }),
  );
}

function templateOf(seed: number, rowsPerDay: number): string {
  const sums = new Map<string, bigint>();
  const rows: string[] = [];
  for (let index = 0; index < WINDOW_DAYS; index += 1) {
    for (let key = 0; key < rowsPerDay; key += 1) rows.push(rowOf(mix(mix(seed, index), key), index, key, sums));
  }
  const totals = forms.map(([name, form]) => `"${name}":${totalText(form, sums.get(name) ?? 0n)}`);
  return `{"rows":[${rows.join(',')}],"totals":{${totals.join(',')}},"warnings":[],"pagination":null}`;
}

function rowOf(seed: number, index: number, key: number, sums: Map<string, bigint>): string {
  const app = key % APPS;
  const network = Math.floor(key / APPS) % NETWORKS;
  const country = Math.floor(key / APPS / NETWORKS);
  const texts = [
    placeholder(index),
    `abcdefghij${app}0`,
    `Example Application ${app}`,
    String(100 + network),
    `Example Partner ${network}`,
    `Example Network ${network}`,
    app % 2 === 0 ? 'ios' : 'android',
    countries[country] ?? `X${country}`,
  ];
  const cells = dimensions.map((name, place) => `"${name}":"${texts[place] ?? ''}"`);
  for (const [place, [name, form]] of forms.entries()) {
    const value = Math.floor(fraction(mix(seed, place)) ** 3 * 1_000_000);
    if (form !== 'ratio') sums.set(name, (sums.get(name) ?? 0n) + BigInt(value));
    cells.push(`"${name}":"${valueText(form, value)}"`);
  }
  return `{"attr_dependency":{"partner_id":"${100 + network}"},${cells.join(',')}}`;
}

function valueText(form: Form, value: number): string {
  return form === 'count' ? String(value) : (value / THOUSANDTHS).toFixed(3);
}

function totalText(form: Form, sum: bigint): string {
  if (form === 'ratio') return '0.5';
  if (form === 'count') return `${sum}.0`;
  const digits = String(sum).padStart(4, '0');
  return `${digits.slice(0, -3)}.${digits.slice(-3)}`;
}
