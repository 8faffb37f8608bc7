/** What a configuration says once: braces, lists within lists, anchors, merges, defaults; a file in, a configuration or an error out. */

import { describe, expect, test } from 'vitest';

import type { Config } from '../../src/config/config.ts';
import { parseConfig } from '../../src/config/read-config.ts';

const parse = (text: string, environment: Record<string, string> = {}): Config =>
  parseConfig(text, { file: '/somewhere/ripen.yaml', directory: '/somewhere', environment });

/** A file of one slice with these metrics, which stand in line 6 from column 14 on. */
const withMetrics = (metrics: string): string =>
  `service: simulator\nslices:\n  - name: daily\n    dimensions: [day]\n    date_period: -7d:yesterday\n    metrics: ${metrics}`;

const metricsOf = (metrics: string, environment: Record<string, string> = {}): readonly string[] =>
  parse(withMetrics(metrics), environment).slices[0]?.metrics ?? [];

describe('braces', () => {
  test.each([
    ['a_d{0,1,3,7}', 'a_d0 a_d1 a_d3 a_d7'],
    ['a_d{0..3}', 'a_d0 a_d1 a_d2 a_d3'],
    ['{purchase,level_up}_events', 'purchase_events level_up_events'],
    ['{a,b{1,2}}_{x,y}', 'a_x a_y b1_x b1_y b2_x b2_y'],
    ['d{08..10}', 'd08 d09 d10'],
    ['installs{,_organic}', 'installs installs_organic'],
    ['{x}_{a,b}', '{x}_a {x}_b'],
    ['${P:-x}{1,2}', 'p1 p2'],
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

  test('an error names the name that they made, and the place of the text they stand in', () => {
    expect(() => parse(withMetrics('["a_d{0,1}", "{a_d1,b,_load_id}"]'))).toThrow(
      /^ripen\.yaml:6:27: slices\[0\]\.metrics\[4\]: "_load_id" is a column ripen adds itself[^\n]*\nripen\.yaml:6:27: slices\[0\]\.metrics\[2\]: "a_d1" repeats a metric; each is stated once$/,
    );
  });
});

describe('lists within lists', () => {
  test('are one list, so that an anchor adds to another', () => {
    const text = withMetrics('[&money [revenue_d0, [revenue_d7]], installs]');
    const second = '\n  - { name: b, dimensions: [[day], app], date_period: today, metrics: [*money, "cost_d{0,1}"] }';
    expect(parse(text + second).slices.map(({ metrics }) => metrics)).toEqual([
      ['revenue_d0', 'revenue_d7', 'installs'],
      ['revenue_d0', 'revenue_d7', 'cost_d0', 'cost_d1'],
    ]);
  });

  test('are refused when they are a part of themselves or nest without end', () => {
    expect(() => parse(withMetrics('&a [installs, *a]'))).toThrow(
      /:6:28: slices\[0\]\.metrics\[1\]: is an alias of what it is a part of/,
    );
    expect(() => parse(withMetrics(`${'['.repeat(60)}a${']'.repeat(60)}`))).toThrow(/nested more than 50 levels deep/);
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

  test('what is wrong in them is told once, where it stands', () => {
    const slices =
      'slices:\n  - { name: a, <<: *daily, metrics: [*money] }\n  - { name: b, <<: *daily, metrics: [*money] }';
    const wrong = base.replace('app]', 'App, app]').replace('revenue_d{0,7}', 'revenue_d{7,7}').replace('21d', '21');
    expect(() => parse(`${wrong}${slices}`)).toThrow(
      /^ripen\.yaml:3:18: slices\[0\]\.metrics\[1\]: "revenue_d7" repeats a metric[^\n]*\nripen\.yaml:5:26: slices\[0\]\.dimensions\[2\]: "app" differs only[^\n]*\nripen\.yaml:7:32: slices\[0\]\.horizons\.a_\*: is a number[^\n]*$/,
    );
  });

  test.each([
    [
      'slices: [{ name: a, <<: *none }]',
      /:1:25: slices\[0\]\."<<": is an alias of an anchor that does not stand before it/,
    ],
    ['slices: [{ name: a, <<: nothing }]', /:1:25: slices\[0\]\."<<": merges what is no mapping/],
    ['slices: [&a { name: a, <<: *a }]', /:1:28: slices\[0\]\."<<": is an alias of what it is a part of/],
    ['defaults: { x-list: [1] }', /:1:13: defaults\.x-list: is not a known key/],
  ])('%s is refused at its place', (text, refusal) => {
    expect(() => parse(`${text}\nservice: simulator`)).toThrow(refusal);
  });

  test('the account may have a name', () => {
    expect(parse('service: simulator\nname: studio').name).toBe('studio');
    expect(() => parse('service: simulator\nname: [studio]')).toThrow(/:2:7: name: is a list; must be text/);
  });
});
