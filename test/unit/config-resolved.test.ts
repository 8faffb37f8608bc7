/** The configuration as it is understood: `check --resolved`. */

import { readFileSync } from 'node:fs';

import { describe, expect, test } from 'vitest';

import { inspectText, parseConfig, resolvedText } from '../../src/config/read-config.ts';

const environment = {
  RIPEN_TOKEN: 'marked-token-4711',
  COST_KEY: 'marked-cost-4711',
  PING_URL: 'https://marked.example.com/ping',
  SLACK_URL: 'https://marked.example.com/hook',
};
const source = { file: '/somewhere/ripen.yaml', directory: '/somewhere', environment };
const resolvedOf = (text: string): string => resolvedText(inspectText(text, source));

describe('a configuration as it is understood', () => {
  test.each(['example', 'demo'])('states the same as config/%s.yaml, and shows no secret', (name) => {
    const text = readFileSync(new URL(`../../config/${name}.yaml`, import.meta.url), 'utf8');
    const resolved = resolvedOf(text);
    expect(resolved).not.toContain('marked');
    expect(JSON.stringify(parseConfig(resolved, { ...source, environment: {} }))).toBe(
      JSON.stringify(parseConfig(text, source)),
    );
    expect(resolvedOf(resolved)).toBe(resolved);
  });

  test('holds what braces, anchors, merges, variables and defaults stand for, and every default', () => {
    const text = `service: { base_url: https://c.example.com, reports_url: https://r.example.com, token: "\${RIPEN_TOKEN}",
  headers: { X-Account: 7, X-Key: { secret: marked-key-4711 } } }
x-money: &money ["revenue_d{0..2}"]
x-kept: &kept { retain: 400d, filters: { campaign__contains: "$\${x}" } }
publish: [{ delta: "s3://bucket/x" }, { duckdb: a }]
notify: { url: "\${PING_URL}" }
defaults: { dimensions: [day], date_period: "-\${N:-7}d:yesterday", currency: EUR, max_rejects: "\${N:-7}", horizons: { settle: 2h } }
slices: [{ name: a, metrics: [*money, installs], <<: *kept, attribution_type: null }]`;
    expect(resolvedOf(text)).toBe(`service:
  base_url: https://c.example.com
  reports_url: https://r.example.com
  token: "***"
  headers:
    X-Account: 7
    X-Key:
      secret: "***"
  max_concurrency: 50
  max_starts_per_second: 50
  campaign_concurrency: 8
  request_timeout: 1000s
  max_response_bytes: 2GiB
  max_url_bytes: 8000
warehouse: data/warehouse.duckdb
publish:
  - delta: s3://bucket/x
    keep: 3d
    keep_released: false
    column_mapping: false
  - duckdb: a
    mode: "0644"
archive: off
audit: 1
notify:
  url: https://***
  on: [ failed, recovered ]
partners: true
links: false
slices:
  - name: a
    dimensions: [ day ]
    metrics: [ revenue_d0, revenue_d1, revenue_d2, installs ]
    max_metrics: 200
    date_period: -7d:yesterday
    cohort_maturity: immature
    utc_offset: +00:00
    attribution_type: null
    attribution_source: dynamic
    sandbox: false
    currency: EUR
    filters:
      campaign__contains: $\${x}
    refresh: milestones
    horizons:
      settle: 2h
      lifetime: 120d
    max_rejects: 7
    completeness: require
    retain: 400d
    types: {}
    additive: {}
`);
  });

  test('of a file with mistakes is refused with all of them', () => {
    expect(() => resolvedOf('service: simulatr\npartners: maybe')).toThrow(/simulator\?\n.*:2:11: partners/);
  });
});
