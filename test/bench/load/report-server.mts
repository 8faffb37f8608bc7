/**
 * The service of the load benches, in a process of its own: any period of the corpus, plain, and a catalog of metrics.
 *
 * `node report-server.mjs <directory> <first day>` prints its port.
 */

import { readFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import { join } from 'node:path';

const MS_PER_DAY = 86_400_000;
const DATE_WIDTH = 10;
const PLACEHOLDER = '##########';

const [directory = '', firstDay = ''] = process.argv.slice(2);

interface Template {
  readonly rows: string;
  readonly sums: Readonly<Record<string, string>>;
}

const catalog: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  overview_metrics: {
    installs: 'integer',
    clicks: 'integer',
    impressions: 'integer',
    sessions: 'integer',
    revenue: 'money',
  },
  cost_metrics: { cost: 'money', network_cost: 'money', ecpi: 'money' },
  cohort_metrics: {
    cohort_size_d7: 'integer',
    all_revenue_total_d7: 'money',
    all_revenue_total_d30: 'money',
    roas_d30: 'percent',
  },
};
const counts = new Set(
  Object.values(catalog).flatMap((list) =>
    Object.keys(list).filter((id) => list[id] === 'integer'),
  ),
);

const written: unknown = JSON.parse(readFileSync(join(directory, 'templates.json'), 'utf8'));

/** Looks no deeper: the bench has written them. */
function isTemplates(value: unknown): value is readonly Template[] {
  return Array.isArray(value);
}

const templates = (isTemplates(written) ? written : []).map(({ rows, sums }) => {
  const body = Buffer.from(rows);
  const places: number[] = [];
  for (
    let at = body.indexOf(PLACEHOLDER);
    at !== -1;
    at = body.indexOf(PLACEHOLDER, at + DATE_WIDTH)
  )
    places.push(at);
  return {
    body,
    places,
    sums: Object.entries(sums).map(([name, sum]) => [name, BigInt(sum)] as const),
  };
});

const server = createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? '', 'http://localhost');
  if (pathname.endsWith('/filters_data'))
    answerCatalog(response, searchParams.get('required_filters') ?? '');
  else answerReport(response, searchParams.get('date_period') ?? '');
});

function answerCatalog(response: ServerResponse, filters: string): void {
  const lists = filters.split(',').map((filter): [string, unknown] => [
    filter,
    Object.entries(catalog[filter] ?? {}).map(([id, formatting]) => ({
      id,
      name: id,
      section: '',
      formatting,
    })),
  ]);
  const body = Buffer.from(JSON.stringify(Object.fromEntries(lists)));
  response
    .writeHead(200, { 'content-type': 'application/json', 'content-length': body.length })
    .end(body);
}

function answerReport(response: ServerResponse, period: string): void {
  const [start = Number.NaN, end = Number.NaN] = period.split(':').map((text) => Date.parse(text));
  const days = (end - start) / MS_PER_DAY + 1;
  const first = (start - Date.parse(firstDay)) / MS_PER_DAY;
  const sums = new Map<string, bigint>();
  const parts: Buffer[] = [Buffer.from('{"rows":[')];
  for (let index = first; index < first + days; index += 1) {
    const template = templates[index % templates.length];
    if (template === undefined) continue;
    if (index > first) parts.push(Buffer.from(','));
    parts.push(onDay(template.body, template.places, Date.parse(firstDay) + index * MS_PER_DAY));
    for (const [name, sum] of template.sums) sums.set(name, (sums.get(name) ?? 0n) + sum);
  }
  const totals = [...sums].map(([name, sum]) => `"${name}":${totalText(name, sum)}`);
  parts.push(Buffer.from(`],"totals":{${totals.join(',')}},"warnings":[],"pagination":null}`));
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': length });
  for (const part of parts) response.write(part);
  response.end();
}

function onDay(body: Buffer, places: readonly number[], at: number): Buffer {
  const dated: Buffer = Buffer.from(body);
  const date = Buffer.from(new Date(at).toISOString().slice(0, DATE_WIDTH));
  for (const place of places) date.copy(dated, place);
  return dated;
}

function totalText(name: string, sum: bigint): string {
  if (name === 'ecpi' || name === 'roas_d30') return '0.5';
  if (counts.has(name)) return `${sum}.0`;
  const digits = String(sum).padStart(4, '0');
  return `${digits.slice(0, -3)}.${digits.slice(-3)}`;
}

server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (address !== null && typeof address === 'object') process.stdout.write(`${address.port}\n`);
});
