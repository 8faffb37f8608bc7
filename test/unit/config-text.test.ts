/** The text of a configuration: variables, YAML, and what is said once by braces, lists within lists, anchors and merges. */

import { describe, expect, test } from 'vitest';

import { parseConfig } from '../../src/config/read-config.ts';
import type { Config } from '../../src/config/config.ts';

const parse = (text: string, environment: Record<string, string> = {}): Config =>
  parseConfig(text, { file: '/somewhere/ripen.yaml', directory: '/somewhere', environment });

const withSlice = (settings: string): string =>
  `service: simulator\nslices:\n  - name: daily\n    dimensions: [day]\n    metrics: [installs]\n    date_period: -7d:yesterday\n${settings}`;

describe('variables', () => {
  /** What a text between two signs becomes, so that nothing is text, too. */
  const filledIn = (text: string, environment: Record<string, string>): string =>
    parse(`service: simulator\nname: ${JSON.stringify(`<${text}>`)}`, environment).name ?? '';

  test.each([
    ['${A}', 'one'],
    ['${A:-x}', 'one'],
    ['${NONE:-x y}', 'x y'],
    ['${NONE:-}', ''],
    ['${EMPTY:-x}', 'x'],
    ['${EMPTY}', ''],
    ['$${A}', '${A}'],
    ['$A 5$', '$A 5$'],
    ['${LOOP}', '${A}'],
  ])('%j becomes %j', (text, filled) => {
    const environment = { A: 'one', B: 'two', EMPTY: '', LOOP: '${A}' };
    expect(filledIn(text, environment)).toBe(`<${filled}>`);
  });

  test.each(['${A', '${}', '${a b}', '${1A}', '${A-x}'])('%j cannot be read', (text) => {
    expect(() => filledIn(text, { A: 'one' })).toThrow('cannot be read');
  });

  test('names every object has are not variables', () => {
    expect(() => filledIn('${constructor}', {})).toThrow('variable constructor is not set');
  });

  test('a missing variable is one problem at its value, and the value is not complained about besides', () => {
    expect(() => parse('service:\n  simulator:\n    apps: ${APPS}')).toThrow(
      /^ripen\.yaml:3:11: service\.simulator\.apps: environment variable APPS is not set; set it$/,
    );
  });

  test('every credential that is missing is named', () => {
    const service = 'base_url: https://c.example.com, reports_url: https://r.example.com';
    const headers =
      'token: "${T}", headers: { X-Account: "${X}" }, cost_headers: { Authorization: "Partner ${C}" }';
    const refused = (): Config => parse(`service: { ${service}, ${headers} }`);
    expect(refused).toThrow(
      /variable T is not set; set it\n.*X is not set; set it\n.*C is not set; set it$/,
    );
    const inFiles = (): Config =>
      parse(`service: { ${service}, token_file: "\${D}/token", ca_file: "\${A}" }`);
    expect(inFiles).toThrow(/variable D is not set; set it\n.*A is not set; set it$/);
  });

  test('what asks the service nothing does without credentials, set to nothing or in a file that is not there', () => {
    const read = (credential: string, environment: Record<string, string>): Config =>
      parseConfig(
        `service: { base_url: https://c.example.com, reports_url: https://r.example.com, ${credential} }`,
        {
          file: '/somewhere/ripen.yaml',
          directory: '/somewhere',
          environment,
          offline: true,
        },
      );
    expect(read('token: "${T}"', {}).service.kind).toBe('http');
    expect(read('token: "${T}"', { T: '' }).service.kind).toBe('http');
    expect(read('token_file: /run/secrets/none', {}).service.kind).toBe('http');
    expect(
      read('token_file: "${CREDENTIALS_DIRECTORY}/token", ca_file: "${CA}"', {}).service.kind,
    ).toBe('http');
    expect(() => read('token: "${T}", max_concurrency: "${M}"', {})).toThrow(
      /M is not set; set it/,
    );
  });

  test('a value from the environment becomes a number or a truth value where one is wanted', () => {
    const text =
      'service: { simulator: { seed: "${SEED}" } }\nlinks:\n  max_level: ${LEVEL:-2}\npartners: ${PARTNERS}';
    const config = parse(text, { SEED: '7', PARTNERS: 'false' });
    expect(config.service).toMatchObject({ seed: 7 });
    expect(config.links).toEqual({ apps: 'all', maxLevel: 2, everyMs: 604_800_000 });
    expect(config.partners).toBe(false);
  });

  test('what does not spell a number is refused where one is wanted, and so is a number written as text', () => {
    expect(() => parse('service: { simulator: { seed: "${SEED}" } }', { SEED: '0x7' })).toThrow(
      /seed: is text; must be/,
    );
    expect(() => parse('service: { simulator: { seed: "7" } }')).toThrow(
      /seed: is text; must be a whole number/,
    );
  });

  test('what a variable holds is never read as YAML and never shown', () => {
    const environment = { MODE: 'nightly, metrics: [s3cret-word]' };
    expect(() => parse(withSlice('    refresh: ${MODE}'), environment)).toThrow(
      /refresh: the value is not allowed/,
    );
    expect(() => parse(withSlice('    refresh: ${MODE}'), environment)).not.toThrow(/s3cret-word/);
  });
});

describe('YAML', () => {
  test.each(['', '%YAML 1.1\n---\n'])(
    'NO is a country, and nothing else is a word for false, behind %j',
    (directive) => {
      const config = parse(
        `${directive}${withSlice('    filters: { country_code__in: [NO, no, off] }')}`,
      );
      expect(config.slices[0]?.parameters['country_code__in']).toBe('NO,no,off');
    },
  );

  test('an id longer than 2^53 and a number with trailing zeros are sent as they were written', () => {
    const config = parse(
      withSlice(
        '    filters: { campaign_id_network__in: [12345678901234567890, 007, -300], cost__gte: 0.10 }',
      ),
    );
    expect(config.slices[0]?.parameters).toMatchObject({
      campaign_id_network__in: '12345678901234567890,007,-300',
      cost__gte: '0.10',
    });
  });

  test.each([
    [
      'a key stated twice',
      'service: simulator\npartners: true\npartners: false',
      '3:1',
      'set twice',
    ],
    ['a code tag', 'service: !!js/function s3cret-word', '1:', 'carries a YAML tag'],
    ['a tag of an unknown family', 'service: !s3cret!word simulator', '1:', 'carries a YAML tag'],
    ['a set', 'service: simulator\nlinks: !!set { a, b }', '2:', 'carries a YAML tag'],
    [
      'an alias of nothing',
      'service: *s3cret-word',
      '1:10',
      'is an alias of an anchor that is not defined before it',
    ],
    [
      'an alias of itself',
      'service: &a { headers: *a }',
      '1:24',
      'is an alias of a value that contains it',
    ],
    ['a second document', 'service: simulator\n---\npartners: true', '2:1', 'not YAML'],
    ['a tab', 'service:\n\ttoken: s3cret-word', '2:1', 'not YAML'],
    ['an open bracket', 'service: [s3cret-word', '1:', 'not YAML'],
    ['extra block header text', 'service: |s3cret-word\n  x', '1:', 'not YAML'],
    [
      'the key __proto__',
      'service: simulator\n__proto__: { partners: false }',
      '1:1',
      'keys are plain text',
    ],
    [
      'a variable between braces',
      'service: { token: ${s3cret} }',
      '1:20',
      'braces must stand in quotes here',
    ],
    [
      'a variable in a key',
      'service: simulator\n${KEY}: true',
      '2:1',
      'variables are filled in values only',
    ],
    [
      'a merge of nothing',
      'service: simulator\nslices: [{ <<: *none }]',
      '2:16',
      'that is not defined before it',
    ],
    [
      'a merge of a text',
      'service: simulator\nslices: [{ <<: s3cret-word }]',
      '2:16',
      'merges something that is not a mapping',
    ],
    [
      'a merge of itself',
      'service: simulator\nslices: [&a { <<: *a }]',
      '2:19',
      'is an alias of a value that contains it',
    ],
    [
      'an x- key that is not at the top',
      'service: simulator\ndefaults: { x-a: [1] }',
      '2:13',
      'is not a known key',
    ],
    ['a list for a key', 'service: simulator\n? [a]\n: 1', '1:1', 'keys are plain text'],
  ])('%s is refused at its place', (_, text, position, words) => {
    expect(() => parse(text)).toThrow(words);
    expect(() => parse(text)).toThrow(`ripen.yaml:${position}`);
    expect(() => parse(text)).not.toThrow(/s3cret/);
  });

  const tenOf = (text: string): string => Array.from({ length: 10 }, () => text).join(', ');
  const levels = (levelText: (level: number) => string): string =>
    Array.from({ length: 12 }, (_, level) => levelText(level)).join('\n');
  test.each([
    [
      'aliases',
      levels((level) => `a${level}: &a${level} [${tenOf(level === 0 ? 'x' : `*a${level - 1}`)}]`),
    ],
    [
      'merges',
      `service: simulator
${levels((level) => `x-a${level}: &a${level} { k${level}: 1${level === 0 ? '' : `, <<: [${tenOf(`*a${level - 1}`)}]`} }`)}
publish: [{ <<: *a11 }]`,
    ],
    ['ranges', withSlice('    os_names: ["{1..1000000}{1..1000000}"]')],
    ['braces', withSlice(`    os_names: ["${'{a,b}'.repeat(60)}"]`)],
  ])('a bomb of a thousand million %s is refused, not expanded', (_, text) => {
    expect(() => parse(text)).toThrow(/^ripen\.yaml:1:1: holds more than 100000 values/);
  });

  test('ten thousand brackets are refused, not followed', () => {
    expect(() => parse('['.repeat(10_000))).toThrow(/^ripen\.yaml:/);
    expect(() => parse(`${'['.repeat(100)}${']'.repeat(100)}`)).toThrow(
      /nested more than 50 levels deep/,
    );
    expect(() => parse(`a:\n  ${'['.repeat(20_000)}`)).toThrow(
      /:2:\d+: is nested too deeply to be read/,
    );
  });
});

/** A file of one slice with these metrics, which stand in line 6 from column 14 on. */
const withMetrics = (metrics: string): string =>
  `service: simulator\nslices:\n  - name: daily\n    dimensions: [day]\n    date_period: -7d:yesterday\n    metrics: ${metrics}`;

const metricsOf = (metrics: string, environment: Record<string, string> = {}): readonly string[] =>
  parse(withMetrics(metrics), environment).slices[0]?.metrics ?? [];

describe('braces', () => {
  test.each([
    ['a_d{0..3}', 'a_d0 a_d1 a_d2 a_d3'],
    ['{purchase,level_up}_events', 'purchase_events level_up_events'],
    ['{a,b{1,2}}_{x,y}', 'a_x a_y b1_x b1_y b2_x b2_y'],
    ['d{08..10}', 'd08 d09 d10'],
    ['installs{,_organic}', 'installs installs_organic'],
    ['{x}_{a,b}', '{x}_a {x}_b'],
  ])('%s names %s', (text, names) => {
    expect(metricsOf(`["${text}"]`, { P: 'p' })).toEqual(names.split(' '));
  });

  test('expand in every list of names, and in no value', () => {
    const config = parse(
      'service: simulator\n' +
        'defaults: { os_names: ["{ios,android}"], index: ["{day,app}"], attribution_types: ["{click,impression}"], attribution_type: null }\n' +
        'slices: [{ name: a, dimensions: ["{day,app}", "{partner,country}_id"], metrics: [installs], date_period: today,\n' +
        '  sort: ["-{installs,day}"], ad_revenue_sources: ["s{1..2}"], filters: { campaign__in: ["{a}", "{"], campaign__contains: "{a,b}" } }]',
    );
    expect(config.slices[0]?.dimensions).toEqual(['day', 'app', 'partner_id', 'country_id']);
    expect(config.slices[0]?.parameters).toMatchObject({
      os_names: 'ios,android',
      index: 'day,app',
      attribution_types: 'click,impression',
      sort: '-installs,-day',
      ad_revenue_sources: 's1,s2',
      campaign__in: '{a},{',
      campaign__contains: '{a,b}',
    });
  });

  test('of which one never closes are refused at their text', () => {
    expect(() => parse(withMetrics('[installs, "a_d{0,1"]'))).toThrow(
      /^ripen\.yaml:6:25: slices\[0\]\.metrics\[1\]: holds a brace that never closes; must be as in a shell, revenue_d\{0,7\} or revenue_d\{0\.\.30\}$/,
    );
  });

  test('without quotes are YAML in the middle of a name that has a line of its own; elsewhere the message says what to do', () => {
    expect(() => parse(withMetrics('[a_d{0,1}]'))).toThrow(
      /^ripen\.yaml:6:18: not YAML: braces must stand in quotes here/,
    );
    expect(metricsOf('\n      - a_d{0,1}\n      - installs')).toEqual(['a_d0', 'a_d1', 'installs']);
    expect(() => parse(withMetrics('\n      - {a,b}_events'))).toThrow(
      /:7:\d+: not YAML: braces must stand in quotes here/,
    );
  });
});

describe('lists within lists', () => {
  test('are one list, so that an anchor adds to another', () => {
    const text = withMetrics('[&money [revenue_d0, [revenue_d7]], installs]');
    const second =
      '\n  - { name: b, dimensions: [[day], app], date_period: today, metrics: [*money, "cost_d{0,1}"] }';
    expect(parse(text + second).slices.map(({ metrics }) => metrics)).toEqual([
      ['revenue_d0', 'revenue_d7', 'installs'],
      ['revenue_d0', 'revenue_d7', 'cost_d0', 'cost_d1'],
    ]);
  });
});

describe('anchors and merges', () => {
  const base = `service: simulator
x-lists:
  money: &money ["revenue_d{0,7}"]
x-daily: &daily
  dimensions: [day, app]
  date_period: -7d:yesterday
  horizons: &horizons { "a_*": 21d, b: 7d }
`;

  test('stand under top-level keys x-…, which say nothing by themselves; a merge adds the keys that are not stated', () => {
    const config = parse(`${base}slices:
  - { name: a, <<: *daily, metrics: [*money, installs] }
  - name: b
    <<: [{ date_period: today }, *daily]
    metrics: [installs]
    dimensions: [day]
    horizons: { b: 1d, <<: *horizons }
x-unused: { of: [no, { consequence: "\${NONE}" }] }`);
    expect(config.slices).toMatchObject([
      {
        dimensions: ['day', 'app'],
        metrics: ['revenue_d0', 'revenue_d7', 'installs'],
        datePeriod: { first: { daysAgo: 7 } },
      },
      {
        dimensions: ['day'],
        metrics: ['installs'],
        datePeriod: { first: { daysAgo: 0 } },
        horizons: [
          { pattern: 'b', horizonMs: 86_400_000 },
          { pattern: 'a_*', horizonMs: 21 * 86_400_000 },
        ],
      },
    ]);
  });
});
