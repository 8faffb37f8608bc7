import { readFileSync } from 'node:fs';

import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseDocument } from 'yaml';

import { inspectText, parseConfig } from '../../src/config/read-config.ts';
import { Failure } from '../../src/errors.ts';

const SERVICE = `service: { base_url: "https://c.example.com", reports_url: "https://r.example.com", token: t0ken-value }\n`;
const SLICE = `  - { name: daily, dimensions: [day], metrics: [installs], date_period: "-7d:yesterday" `;

/** The lines of the failure a text causes; none when it is valid. */
function problemsOf(text: string, environment: Record<string, string> = {}): string[] {
  try {
    parseConfig(text, { file: 'ripen.yaml', directory: '/work', environment });
    return [];
  } catch (thrown) {
    if (!(thrown instanceof Failure) || thrown.code !== 'CONFIG_INVALID') throw thrown;
    return thrown.message.split('\n');
  }
}

/** Problems of a simulated service's file with these lines besides. */
const problemsWith = (lines: string): string[] => problemsOf(`service: simulator\n${lines}\n`);

/** Problems of one slice with these settings besides. */
const problemsOfSlice = (settings: string): string[] =>
  problemsWith(`slices:\n${SLICE}, ${settings} }`);

describe('problems', () => {
  test('a file with ten different mistakes is told all ten at once, each with its line and column', () => {
    const text = readFileSync(
      new URL('../fixtures/config/ten-mistakes.yaml', import.meta.url),
      'utf8',
    );
    const problems = problemsOf(text, { RIPEN_TOKEN: 'hidden-token' });
    expect(problems.map((line) => line.split(': ').slice(0, 2).join(' '))).toEqual([
      'ripen.yaml:3:16 service.reports_url',
      'ripen.yaml:4:3 service.tokn',
      'ripen.yaml:5:12 warehouse',
      'ripen.yaml:6:10 archive',
      'ripen.yaml:9:23 slices[0].dimensions[1]',
      'ripen.yaml:10:25 slices[0].metrics[1]',
      'ripen.yaml:11:18 slices[0].date_period',
      'ripen.yaml:13:7 slices[0].filters.country_code__inn',
      'ripen.yaml:14:14 slices[0].types.instals',
      'ripen.yaml:15:19 slices[0].completeness',
    ]);
    expect(problems).toContain(
      'ripen.yaml:15:19: slices[0].completeness: "requir" is not allowed; must be one of require, warn; did you mean require?',
    );
    expect(problems[1]).toMatch(/did you mean token\?$/);
    expect(problems[7]).toMatch(/did you mean country_code__in\?$/);
    expect(problems[8]).toMatch(/did you mean installs\?$/);
  });

  const endpoint = (address: string): string =>
    `publish: [{ delta: "s3://bucket/x", endpoint: "${address}" }]`;
  const notified = (address: string): string => `notify: { url: "${address}" }`;
  const plainHttp =
    'is plain http, which others on the network can read; must be https (http for loopback hosts only)';
  test.each([
    [notified('http://hooks.example.com/S3CRET'), `notify.url: the value ${plainHttp}`],
    [notified('https://hooks.example.com/S3CRET '), 'notify.url: the value is not an address'],
    [
      notified('ftp://h.example.com'),
      'is not an address; must be an address such as https://reports.example.com',
    ],
    [
      notified('https://usr:S3CRET@a.example.com'),
      'the value contains credentials; must be an address without them',
    ],
    [
      'notify: https://hooks.example.com/S3CRET',
      'notify: the value is not allowed; must be a mapping',
    ],
    ['notify: [https://hooks.example.com/S3CRET]', 'notify'],
    [
      'notify: { https://hooks.example.com/S3CRET: null }',
      'notify.(an address): is not a known key',
    ],
    [
      `notify: { url: "https://a.example.com", https://b.example.com/S3CRET: x }`,
      '(an address): is not a known key',
    ],
    ['https://hooks.example.com/S3CRET: x', '(an address): is not a known key'],
    [
      endpoint('minio:9000'),
      'is not an address; must be an address such as https://reports.example.com',
    ],
    [endpoint('http://minio.example.com'), plainHttp],
    [
      endpoint('https://AKIA:S3CRET@a.example.com'),
      'the value contains credentials; must be an address without them',
    ],
    [
      endpoint('https://a.example.com/?a=b'),
      'contains a query or a fragment; must be an origin and at most a path',
    ],
    [endpoint('AKIA:S3CRET@minio.example.com'), 'the value is not an address'],
    [
      'publish: [{ delta: "s3://AKIA:S3CRET@bkt/x" }]',
      'publish[0].delta: the value is not a place for a lake',
    ],
    [
      'publish: [{ duckdb: "https://a.example.com/a?X-Signature=S3CRET" }]',
      'publish[0].duckdb: the value is an address',
    ],
    ['warehouse: "s3://AKIA:S3CRET@bkt/x"', 'warehouse: the value is an address'],
  ])('%s is refused, and what may be a secret is not repeated', (line, said) => {
    const problems = problemsWith(line).join('\n');
    expect(problems).toContain(said);
    expect(problems).not.toContain('S3CRET');
  });

  test.each([
    endpoint('http://127.0.0.1:9000/'),
    notified('https://hc-ping.com/x?a=b#c'),
    notified('http://localhost/x'),
  ])('%s is an address', (line) => {
    expect(problemsWith(line)).toEqual([]);
  });

  test.each([
    ['service: simulatr', '1:10', 'did you mean simulator?'],
    ['slices: []', '1:1', 'service: is missing; must be simulator or a mapping'],
    ['service: { simulator: { sed: 3 } }', '1:25', 'service.simulator.sed: is not a known key'],
    ['', '1:1', 'is empty; must be a mapping'],
    [`${SERVICE}partnrs: true`, '2:1', 'partnrs: is not a known key'],
    [
      'service: simulator\nslices: [{ name: c, dimensions: [day], date_period: "-7d:today", cohorts: {\n  paid: d1,\n  "paid_{age}": [d0, d1] } }]',
      '4:17',
      'states paid_d1 twice; must state it once',
    ],
    [
      'service: simulator\nslices: [{ name: c, dimensions: [day], date_period: "-7d:today", cohorts: {\n  paid: d1,\n  Paid: [d0, d1] } }]',
      '4:9',
      '"Paid" repeats a key (names are compared without case); remove one',
    ],
    [
      'service: simulator\nslices: [{ name: c, dimensions: [day], date_period: "-7d:today", cohorts: {\n  paid: d1,\n  "PAID_{age}": d1 } }]',
      '4:17',
      'states PAID_d1 twice; must state it once',
    ],
    [
      'service: simulator\npublish: [{ duckdb: a, parquet: b }]',
      '2:11',
      'one destination, duckdb, delta or parquet',
    ],
    ['service: simulator\npublish: [{}]', '2:11', 'must name one destination'],
    [
      'service: simulator\npublish: [{ duckdb: s3://b/x }]',
      '2:21',
      'must be a path of this machine',
    ],
    [
      'service: simulator\npublish: [{ parquet: gs://b/x }]',
      '2:22',
      'must be a directory or s3://bucket/prefix',
    ],
    [
      'service: simulator\npublish: [{ parquet: "s3:/bucket" }]',
      '2:22',
      'must be a directory or s3://bucket/prefix',
    ],
    [
      'service: simulator\npublish: [{ parquet: s3://ab/x }]',
      '2:22',
      'a bucket of 3 to 63 small letters',
    ],
    [
      'service: simulator\npublish: [{ delta: s3://Bucket }]',
      '2:20',
      'a bucket of 3 to 63 small letters',
    ],
    [
      'service: simulator\npublish: [{ delta: s3://bkt/a/../b }]',
      '2:20',
      'a prefix without empty steps, . or ..',
    ],
    [
      'service: simulator\npublish: [{ duckdb: a, mode: 644 }]',
      '2:30',
      'must be octal text such as "0644"',
    ],
    ['service: simulator\nlinks: { apps: [short] }', '2:17', 'is not an app token'],
    [
      'service: simulator\nlinks: { apps: all, max_level: 5 }',
      '2:32',
      'the value is too large; must be at most 4',
    ],
    ['service: simulator\nlinks: true', '2:8', 'must be false or a mapping'],
    [
      'service: simulator\nwarehouse: "${A:-${B:-c}}"',
      '2:12',
      'holds a variable that cannot be read',
    ],
    ['service: { simulator: { now: 2026-02-30T00:00:00Z } }', '1:30', 'is not an instant'],
  ])('%j is refused at %s: %s', (text, position, words) => {
    const problems = problemsOf(text);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain(`ripen.yaml:${position}: `);
    expect(problems[0]).toContain(words);
  });

  test.each([
    ['base_url: example.com', 'is not an address'],
    ['base_url: http://campaign.example.com', 'is plain http'],
    ['base_url: http://127.0.0.1.example.com', 'is plain http'],
    ['base_url: https://user:s3cret-word@campaign.example.com', 'contains credentials'],
    ['base_url: https://campaign.example.com/?a=s3cret-word', 'contains a query'],
    ['token: "s3cret-word s3cret-word"', 'holds whitespace'],
    ['token: ""', 'is empty'],
    ['headers: { authorization: s3cret-word }', 'is a header ripen sets itself'],
    ['headers: { "a b": s3cret-word }', 'is not a header name'],
    ['headers: { X-A: s3cret-word, x-a: b }', 'repeats a header (names are compared without case)'],
    ['headers: { a: "s3cret-word\\r\\nb: c" }', 'contains control characters'],
    ['request_timeout: 1000', 'is a number; must be a number and a unit'],
    ['request_timeout: 0s', 'must be 1s to 1d'],
    ['max_concurrency: 1.5', 'must be a whole number, 1 to 50'],
    ['max_response_bytes: 5XB', 'must be bytes, or text such as 500MB'],
    ['token: t0ken, token_file: f', 'cannot be used with token'],
  ])(
    'the service setting %j is refused (%s) without repeating what it holds',
    (settings, words) => {
      const token = settings.includes('token') ? '' : ', token: t0ken';
      const url = settings.includes('base_url') ? '' : ', base_url: https://c.example.com';
      const problems = problemsOf(
        `service: { reports_url: https://r.example.com, ${settings}${token}${url} }`,
      );
      expect(problems.filter((line) => line.includes(words))).toHaveLength(1);
      expect(problems.join()).not.toContain('s3cret-word');
    },
  );

  test('a service without a token is told once, at the service', () => {
    expect(
      problemsOf(
        'service: { base_url: https://c.example.com, reports_url: https://r.example.com }',
      ),
    ).toEqual(['ripen.yaml:1:1: service.token: is missing; set it, or token_file']);
  });

  test.each(['archive', 'control'])('%s is at most a century', (key) => {
    expect(problemsOf(`${SERVICE}\n${key}: 36601d`)).toEqual([
      `ripen.yaml:3:10: ${key}: the value is too long; must be at most 36600d`,
    ]);
    expect(problemsOf(`${SERVICE}\n${key}: 36600d`)).toEqual([]);
  });

  test('switched-off certificate checking in the environment is refused', () => {
    expect(problemsOf(SERVICE, { NODE_TLS_REJECT_UNAUTHORIZED: '0' })).toHaveLength(1);
    expect(problemsOf(SERVICE, { NODE_TLS_REJECT_UNAUTHORIZED: '1' })).toEqual([]);
  });

  test.each([
    ['x_y: 1', 'x_y: is not a known key'],
    ['filters: { installs__gte: .inf }', 'installs__gte'],
    ['filters: { installs__gte: abc }', 'is not a number; gte takes one, such as 10 or 0.5'],
    ['filters: { installs__gte: "0x10" }', 'is not a number; gte takes one, such as 10 or 0.5'],
    ['cohort_maturity: "mature,immature"', 'contains a comma'],
    ['utc_offset: "05:30"', 'is not an offset from UTC'],
    ['os_names: ios', 'is text; must be a list'],
    ['os_names: []', 'is an empty list'],
    ['sandbox: yes', 'must be true or false'],
    ['index: ["app,day"]', 'is not a dimension name'],
    ['sort: ["-"]', 'is not a name to sort by'],
    ['limit: 0', 'must be at least 1'],
    ['refresh: nightli', 'did you mean nightly?'],
    ['refresh: [7, 2]', 'is not ascending'],
    ['horizons: { "a_*": 1w }', 'is not a duration'],
    ['horizons: { settle: 1 }', 'must be a number and a unit'],
    ['types: { installs: VARCHAR }', 'must be BIGINT, DOUBLE or DECIMAL(p,s)'],
    ['types: { installs: "DECIMAL(39,2)" }', 'is not a column type'],
    ['types: { installs: "DECIMAL(5,6)" }', 'is not a column type'],
    ['types: { instals: BIGINT }', 'is not a metric of this slice'],
    ['horizons: { "a_*": 36601d }', 'is too long; must be at most 36600d'],
    ['additive: { installs: 1 }', 'must be true or false'],
    [
      'additive: { instals: false }',
      'is not a metric of this slice; allowed: installs; did you mean installs?',
    ],
    ['additive: { __proto__: false }', 'contains a key that no mapping can have'],
    ['completeness: required', 'must be one of require, warn; did you mean require?'],
    ['retain: 400', 'is a number; must be whole days, 1d to 36600d, such as 400d'],
    ['retain: 36h', 'is not a number of whole days'],
    ['retain: 36601d', 'is not a number of whole days'],
    ['extra_parameters: { currency: USD }', 'is a parameter or a filter; set'],
    ['extra_parameters: { metrics: a }', 'extra_parameters.metrics: is set by ripen itself'],
    ['extra_parameters: { format_dates: true }', 'is set by ripen itself; remove it'],
    ['extra_parameters: { "a&b": 1 }', 'is not a parameter name'],
    ['filters: { contry_code__inn: [DE] }', 'is not a filter; must be <dimension>__ in, not_in'],
    ['filters: { " sdk__in": [a] }', 'filters by something that is not a name'],
    ['filters: { installs__gtee: 1 }', 'did you mean installs__gte?'],
    ['filters: { os_name__gt: 1 }', 'is not a filter'],
    ['filters: { os_name__in: [] }', 'is an empty list'],
    ['filters: { os_name__in: ["a,b"] }', 'contains a comma'],
    ['filters: { os_name__in: "a,b" }', 'contains a comma; must be a list'],
    ['filters: { os_name__contains: [a, b] }', 'contains takes one text'],
    ['filters: { installs__gte: [1] }', 'gte takes one number'],
    ['filters: { os_name__in: [true] }', 'must be text or a number'],
  ])('the slice setting %j is one problem: %s', (settings, words) => {
    const problems = problemsOfSlice(settings);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain(words);
  });

  test.each([
    ['name: Daily', 'is not a slice name'],
    ['name: daily_final', 'is a name ripen uses itself'],
    ['name: ripen_daily', 'is a name ripen uses itself'],
    ['name: links_history', 'is a name ripen uses itself'],
    ['name: 7', 'must be'],
    ['dimensions: []', 'is an empty list'],
    ['dimensions: [day, day]', 'repeats a dimension'],
    ['dimensions: [_extra]', 'is a column ripen adds itself'],
    ['dimensions: ["app,day"]', 'is not a dimension name'],
    ['dimensions: ["a\\ud800b"]', 'is not a dimension name'],
    ['dimensions: [Day]', 'is a date dimension in other letters; must be written as hour, day'],
    ['dimensions: [app, APP]', 'names are compared without case'],
    ['metrics: []', 'is an empty list'],
    ['metrics: [installs, installs]', 'repeats a metric'],
    ['metrics: [installs, Installs]', 'names are compared without case'],
    ['metrics: [Week]', 'is the name of a date dimension'],
    ['metrics: [ATTR_DEPENDENCY]', 'is a column ripen adds itself'],
    ['metrics: ["a,b"]', 'is not a metric name'],
    ['metrics: [""]', 'is not a metric name'],
    ['date_period: "2026-02-30:yesterday"', 'is not a date period'],
    ['date_period: this_mont', 'is not a date period; must be <start>:<end>'],
    ['date_period: last_weak', 'did you mean last_week?'],
    ['date_period: "-36601d:today"', 'is not a date period'],
    ['date_period: "2026-01-01:10000-01-01"', 'is not a date period'],
    [
      'date_period: "0026-01-01:yesterday"',
      'begins on 0026-01-01; must begin on 1970-01-01 or later',
    ],
    ['date_period: "2026-02-02:2026-02-01"', 'ends before it starts'],
    ['date_period: "month_start:-31d"', 'ends before it starts'],
  ])('a slice with %j is one problem: %s', (setting, words) => {
    const required = [
      'name: daily',
      'dimensions: [day]',
      'metrics: [installs]',
      'date_period: "-7d:yesterday"',
    ];
    const key = setting.split(':')[0] ?? '';
    const lines = required.map((line) => (line.startsWith(key) ? setting : line));
    const problems = problemsWith(`slices:\n  - ${lines.join('\n    ')}`);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain(words);
  });

  test('a name that is a dimension and, in other letters, a metric of one slice is told at the metric', () => {
    const problems = problemsWith(
      'slices:\n  - { name: a, dimensions: [day, Country], metrics: [installs, country], date_period: today }',
    );
    expect(problems).toEqual([
      'ripen.yaml:3:64: slices[0].metrics[1]: "country" is already a dimension of this slice (names are compared without case)',
    ]);
  });

  test.each(['daily_cohorts', 'daily_links', 'daily_maturation', 'daily_projected'])(
    'a slice %s beside a slice daily would stand in the place of what is derived from it; alone it may be',
    (name) => {
      const other = SLICE.replace('daily', name);
      const problems = problemsWith(`slices:\n${other} }\n${SLICE}}`);
      expect(problems).toEqual([
        'ripen.yaml:3:13: slices[0].name: is a name ripen derives from slice daily itself; must be another',
      ]);
      expect(problemsWith(`slices:\n${other} }`)).toEqual([]);
    },
  );
});

const isMapping = (value: unknown): value is object => typeof value === 'object' && value !== null;

/** Every place of a document, root apart. */
function placesOf(value: unknown, path: readonly string[] = []): (readonly string[])[] {
  const inner = isMapping(value) ? Object.entries(value) : [];
  return [
    ...(path.length === 0 ? [] : [path]),
    ...inner.flatMap(([step, each]) => placesOf(each, [...path, step])),
  ];
}

test('whatever stands at any one place of the example, it is read, or refused with its problems', () => {
  const document = parseDocument(
    readFileSync(new URL('../../config/example.yaml', import.meta.url), 'utf8'),
  );
  const names = ['RIPEN_TOKEN', 'COST_KEY', 'PING_URL', 'SLACK_URL'];
  const environment = Object.fromEntries(
    names.map((name) => [name, `https://hidden.example.com/${name}`]),
  );
  const places = placesOf(document.toJS());
  expect(places.length).toBeGreaterThan(100);
  const anything = fc.oneof(
    fc.constantFrom(
      null,
      '',
      '__proto__',
      'constructor',
      -1,
      1e300,
      true,
      [],
      {},
      [[]],
      { a: { b: [null] } },
      'a,b',
    ),
    fc.string({ maxLength: 8 }).map((text) => text.replaceAll('$', '')),
  );
  fc.assert(
    fc.property(fc.constantFrom(...places), anything, (place, by) => {
      const changed = document.clone();
      changed.setIn(place, by);
      const { config, problems } = inspectText(String(changed), {
        file: 'ripen.yaml',
        directory: '/work',
        environment,
      });
      expect(config === null).toBe(problems.length > 0);
    }),
    { numRuns: 100, seed: 20_260_101 },
  );
});
