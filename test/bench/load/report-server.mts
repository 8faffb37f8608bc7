/**
 * The service of the load bench, in a process of its own: reports from disk, and a catalog of nothing but metrics.
 *
 * `node report-server.mjs <directory> <first day> <days per window> <windows on disk> <templates>` prints its port. A
 * window that is on disk is sent compressed, as it lies there; any later one is a template with its dates written over,
 * plain.
 */

import { createReadStream, readFileSync, statSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import { join } from 'node:path';

const MS_PER_DAY = 86_400_000;
/** How a day stands in a template: as its number, filled up to the width of a date. */
const FILLER = '########';
const DATE_WIDTH = 10;

const [directory = '', firstDay = '', ...numbers] = process.argv.slice(2);
const [daysPerWindow = 0, windows = 0, templateCount = 0] = numbers.map(Number);

interface Template {
  readonly body: Buffer;
  readonly places: readonly { readonly at: number; readonly day: number }[];
}

const templates = Array.from({ length: templateCount }, (_, index): Template => {
  const body = readFileSync(join(directory, `template.${index}.json`));
  const places: { at: number; day: number }[] = [];
  for (let at = body.indexOf(FILLER); at !== -1; at = body.indexOf(FILLER, at + DATE_WIDTH)) {
    places.push({ at, day: Number(body.toString('latin1', at, at + DATE_WIDTH).replaceAll('#', '')) });
  }
  return { body, places };
});

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

const server = createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? '', 'http://localhost');
  if (pathname.endsWith('/filters_data')) answerCatalog(response, searchParams.get('required_filters') ?? '');
  else answerReport(response, searchParams.get('date_period') ?? '');
});

function answerCatalog(response: ServerResponse, filters: string): void {
  const lists = filters
    .split(',')
    .map((filter): [string, unknown] => [
      filter,
      Object.entries(catalog[filter] ?? {}).map(([id, formatting]) => ({ id, name: id, section: '', formatting })),
    ]);
  sendJson(response, Buffer.from(JSON.stringify(Object.fromEntries(lists))));
}

function answerReport(response: ServerResponse, period: string): void {
  const [start = Number.NaN, end = Number.NaN] = period.split(':').map((text) => Date.parse(text));
  const window = (start - Date.parse(firstDay)) / MS_PER_DAY / daysPerWindow;
  const template = templates[window % templates.length];
  if (!Number.isInteger(window) || (end - start) / MS_PER_DAY !== daysPerWindow - 1 || template === undefined) {
    response.writeHead(400).end(`{"error":"There is no window ${period}."}`);
  } else if (window < windows) {
    sendFile(response, join(directory, `window.${window}.json.gz`));
  } else {
    sendJson(response, withDates(template, start));
  }
}

function withDates({ body, places }: Template, start: number): Buffer {
  const dated = Buffer.from(body);
  for (const { at, day } of places) {
    dated.write(new Date(start + day * MS_PER_DAY).toISOString().slice(0, DATE_WIDTH), at, 'latin1');
  }
  return dated;
}

function sendFile(response: ServerResponse, file: string): void {
  response.writeHead(200, {
    'content-type': 'application/json',
    'content-encoding': 'gzip',
    'content-length': statSync(file).size,
  });
  createReadStream(file).pipe(response);
}

function sendJson(response: ServerResponse, body: Buffer): void {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length });
  response.end(body);
}

server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (address !== null && typeof address === 'object') process.stdout.write(`${address.port}\n`);
});
