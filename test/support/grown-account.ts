/** An account over real HTTP with any number of apps and event metrics, which may grow; every value of every report is 1. */

import {
  json,
  startScriptedServer,
  type Received,
  type Reply,
  type ScriptedServer,
} from './scripted-server.ts';

export interface AccountLists {
  readonly apps: readonly Readonly<Record<string, string>>[];
  /** Ids of event metrics, in any order. */
  events: readonly string[];
  /** Ages of the cohort metrics, `d0`. */
  readonly ages: readonly string[];
  /** Listed metrics that no report may name. */
  refused?: readonly string[];
  /** Whether a refusal repeats all metrics of the report. */
  repeatsRequest?: boolean;
  /** The last day of reports that are refused for no metric of theirs. */
  refusedDay?: string;
}

/** The lists may be changed between two requests. */
export async function startAccount(lists: AccountLists): Promise<ScriptedServer> {
  return startScriptedServer((request) => replyTo(request, lists));
}

const item = (
  id: string,
  formatting = 'integer',
  section = 'Events',
): Readonly<Record<string, string>> => ({
  id,
  name: id,
  short_name: '',
  section,
  formatting,
  description: '',
});

const dimensions =
  'hour day app app_token network campaign os_name country_code partner_name partner_id'.split(' ');

function itemsOf({
  apps,
  events,
  ages,
}: AccountLists): Readonly<Record<string, readonly object[]>> {
  const cohorts = [
    'all_revenue_total',
    'revenue_total',
    'cohort_size',
    'retained_users',
    'roas',
  ].flatMap((name) =>
    ages.map((age) =>
      item(`${name}_${age}`, name.includes('revenue') ? 'money' : 'integer', 'Revenue'),
    ),
  );
  return {
    apps,
    overview_metrics: ['installs', 'clicks', 'impressions', 'sessions', 'cost'].map((id) =>
      item(id, id === 'cost' ? 'money' : 'integer', 'Installs'),
    ),
    cohort_metrics: cohorts,
    event_metrics: events.map((id) => item(id)),
    dimensions: dimensions.map((id) => item(id, 'string', '')),
    currencies: ['USD', 'EUR'].map((id) => item(id, 'select', '')),
    countries: [item('DE', 'select', '')],
    os_names: [item('ios', 'select', '')],
    networks: [item('Some Network', 'select', '')],
  };
}

function replyTo({ path, query }: Received, lists: AccountLists): Reply {
  const headers = { date: new Date().toUTCString() };
  if (path.endsWith('/filters_data')) {
    const items = itemsOf(lists);
    const wanted = (query.get('required_filters') ?? '').split(',');
    return json(Object.fromEntries(wanted.map((list) => [list, items[list] ?? []])), { headers });
  }
  if (!path.endsWith('/report'))
    return json({ data: { items: [], paging: { cursors: {} } } }, { headers });
  const metrics = (query.get('metrics') ?? '').split(',');
  const refused = metrics.find((name) => lists.refused?.includes(name) === true);
  if (refused !== undefined) {
    const request = lists.repeatsRequest === true ? ` in '${metrics.join(',')}'` : '';
    const words = { error_desc: `Unsupported metric: ${refused}${request}.` };
    return json(words, { status: 400, headers });
  }
  if (lists.refusedDay !== undefined && query.get('date_period')?.endsWith(lists.refusedDay))
    return json({ error_desc: 'That day is not served.' }, { status: 400, headers });
  const labels = (query.get('dimensions') ?? '')
    .split(',')
    .filter((name) => name !== 'day' && name !== 'hour');
  const isHourly = (query.get('dimensions') ?? '').split(',').includes('hour');
  const rows = daysOf(query.get('date_period') ?? '').map((day) => {
    const row: Record<string, string> = isHourly ? { hour: `${day}T00:00:00` } : { day };
    for (const name of labels) row[name] = 'x';
    for (const name of metrics) row[name] = '1';
    return row;
  });
  const totals = Object.fromEntries(metrics.map((name) => [name, rows.length]));
  return json({ rows, totals, warnings: [], pagination: null }, { headers });
}

function daysOf(period: string): string[] {
  const [first = '', last = ''] = period.split(':').map((day) => Date.parse(day));
  const days: string[] = [];
  for (let at = Number(first); at <= Number(last); at += 86_400_000)
    days.push(new Date(at).toISOString().slice(0, 10));
  return days;
}
