/** Reports made once: days of rows of 8 dimensions and 12 metrics, with totals that are exactly right, of which any period is put together. */

import { mkdir, open, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { addDays, day, type Day, type DayInterval } from '../../../src/model/calendar.ts';
import { daysIn } from '../../support/plain-values.ts';
import { fraction, mix } from '../../../src/simulator/world/hash.ts';

export const FIRST_DAY = day('2005-01-01');

export const dimensions =
  'day app_token app partner_id partner_name network os_name country_code'.split(' ');

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
/** Days that stand for all days by turns. */
const TEMPLATES = 31;
/** Stands where the date will, as wide as one. */
const PLACEHOLDER = '##########';

/** A day's rows without the brackets of their list, and the sums of its metrics in thousandths or as counts. */
interface Template {
  readonly rows: string;
  readonly sums: Readonly<Record<string, string>>;
}

export interface Corpus {
  /** Holds `templates.json`, which the report server reads. */
  readonly directory: string;
  readonly rowsPerDay: number;
  readonly templates: readonly Template[];
}

/** Writes the days that all reports are made of. */
export async function makeCorpus(directory: string, rowsPerDay: number): Promise<Corpus> {
  await mkdir(directory, { recursive: true });
  const templates = Array.from({ length: TEMPLATES }, (_, seed) => templateOf(seed, rowsPerDay));
  await writeFile(join(directory, 'templates.json'), JSON.stringify(templates));
  return { directory, rowsPerDay, templates };
}

/** The first so many days. */
export function daysOf(count: number): DayInterval {
  return { start: FIRST_DAY, end: addDays(FIRST_DAY, count) };
}

/** The same rows on disk, a file a month, for who needs no service: as report bodies, or a row a line. */
export async function writeFiles(
  corpus: Corpus,
  days: number,
  as: 'bodies' | 'lines',
): Promise<string[]> {
  const files: string[] = [];
  const all = daysIn(daysOf(days));
  for (let from = 0; from < all.length; from += TEMPLATES) {
    const path = join(corpus.directory, `${as}.${days}.${from}.json`);
    const file = await open(path, 'w');
    if (as === 'bodies') await file.write('{"rows":[');
    for (const [at, date] of all.slice(from, from + TEMPLATES).entries()) {
      const rows = rowsOn(corpus, date, from + at);
      if (as === 'lines') await file.write(`${rows.replaceAll('},{"attr', '}\n{"attr')}\n`);
      else await file.write(at === 0 ? rows : `,${rows}`);
    }
    if (as === 'bodies') await file.write(']}');
    await file.close();
    files.push(path);
  }
  return files;
}

function rowsOn({ templates }: Corpus, date: Day, index: number): string {
  return (templates[index % TEMPLATES]?.rows ?? '').replaceAll(PLACEHOLDER, date);
}

function templateOf(seed: number, rowsPerDay: number): Template {
  const sums = new Map<string, bigint>();
  const rows = Array.from({ length: rowsPerDay }, (_, key) => rowOf(mix(seed, key), key, sums));
  return {
    rows: rows.join(','),
    sums: Object.fromEntries(forms.map(([name]) => [name, String(sums.get(name) ?? 0n)])),
  };
}

function rowOf(seed: number, key: number, sums: Map<string, bigint>): string {
  const app = key % APPS;
  const network = Math.floor(key / APPS) % NETWORKS;
  const country = Math.floor(key / APPS / NETWORKS);
  const texts = [
    PLACEHOLDER,
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
    cells.push(
      `"${name}":"${form === 'count' ? String(value) : (value / THOUSANDTHS).toFixed(3)}"`,
    );
  }
  return `{"attr_dependency":{"partner_id":"${100 + network}"},${cells.join(',')}}`;
}
