import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inspect } from 'node:util';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';

import type { Config } from '../../src/config/config.ts';
import { configJsonSchema } from '../../src/config/schema-views.ts';
import {
  inspectText,
  parseConfig,
  readConfig,
  resolvedText,
} from '../../src/config/read-config.ts';
import { scrub } from '../../src/config/secret.ts';
import { metrics as simulatedMetrics } from '../../src/simulator/world/metrics.ts';
import { asFailure, type Failure } from '../../src/errors.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const SECRETS = {
  RIPEN_TOKEN: 'marked-token-4711',
  COST_KEY: 'marked-cost-key-4711',
  PING_URL: 'https://marked.example.com/ping',
  SLACK_URL: 'https://marked.example.com/hook',
};
const HTTP = 'base_url: https://c.example.com, reports_url: https://r.example.com';

let directory = '';
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'ripen-config-'));
});
afterAll(() => rm(directory, { recursive: true }));

/** The failure of reading a file of the directory, `ripen.yaml` unless another is named. */
const failureOf = async (file?: string): Promise<Failure> =>
  readConfig({ ...(file === undefined ? {} : { file }), directory, environment: {} }).then(
    () => expect.unreachable('nothing was thrown'),
    asFailure,
  );

const configOf = (text: string, file = 'ripen.yaml'): Config =>
  parseConfig(text, { file, directory, environment: {} });

describe('finding the file', () => {
  test('without --config ./ripen.yaml is read, and a missing one is named with the way out', async () => {
    const missing = await failureOf();
    expect(missing.code).toBe('CONFIG_MISSING');
    expect(missing.message).toContain(`${join(directory, 'ripen.yaml')} (ENOENT)`);
    expect(missing.hint).toContain('ripen init');
    await writeFile(join(directory, 'ripen.yaml'), 'service: simulator');
    const config = await readConfig({ directory, environment: {} });
    expect(config.file).toBe(join(directory, 'ripen.yaml'));
    await rm(join(directory, 'ripen.yaml'));
  });

  test('with --config that file alone is tried, and a directory is no file', async () => {
    const missing = await failureOf('other.yaml');
    expect(missing.code).toBe('CONFIG_MISSING');
    expect(missing.message).toContain(`${join(directory, 'other.yaml')} (ENOENT)`);
    const unreadable = await failureOf('.');
    expect(unreadable.message).toContain('(EISDIR)');
  });

  test('a file with a byte order mark and Windows line ends is read', async () => {
    await writeFile(join(directory, 'bom.yaml'), '\uFEFFservice: simulator\r\npartners: false\r\n');
    const config = await readConfig({ file: 'bom.yaml', directory, environment: {} });
    expect(config.partners).toBe(false);
  });

  test('a `.env` with a byte order mark and Windows line ends sets its first variable, too', async () => {
    await writeFile(join(directory, '.env'), '\uFEFFSTORE=a.duckdb\r\nMORE=1\r\n');
    await writeFile(join(directory, 'env.yaml'), 'service: simulator\nwarehouse: ${STORE}\n');
    const { warehouse } = await readConfig({ file: 'env.yaml', directory, environment: {} });
    expect(warehouse).toBe(join(directory, 'a.duckdb'));
    await rm(join(directory, '.env'));
  });

  test('a file that is not UTF-8 is refused', async () => {
    const text = 'service: simulator\n# \uFFFD ü\nwarehouse: "S\xE3o.duckdb"\n';
    const [before = '', after = ''] = text.split('\xE3');
    const bytes = Buffer.concat([Buffer.from(before), Buffer.from([0xe3]), Buffer.from(after)]);
    await writeFile(join(directory, 'latin1.yaml'), bytes);
    const refused = await failureOf('latin1.yaml');
    expect(refused).toMatchObject({ code: 'CONFIG_INVALID' });
    expect(refused.message).toContain('latin1.yaml: is not UTF-8');
  });
});

describe('secrets', () => {
  test('a token file is read from beside the configuration and trimmed', async () => {
    await writeFile(join(directory, 'token'), '  marked-file-token\n');
    const { service } = configOf(`service: { ${HTTP}, token_file: token }`);
    expect(service.kind === 'http' && service.token.reveal()).toBe('marked-file-token');
  });

  test.each([
    ['missing', null, 'could not be read (ENOENT)'],
    ['empty', '\n', 'is empty or has more than a token'],
    ['two', 'marked-one\nmarked-two', 'is empty or has more than a token'],
  ])('a token file that is %s is a problem at its line', async (name, content, words) => {
    if (content !== null) await writeFile(join(directory, name), content);
    const read = () => configOf(`service:\n  { ${HTTP}, token_file: ${name} }`);
    expect(read).toThrow(words);
    expect(read).toThrow(/^ripen\.yaml:2:86: service\.token_file: /);
    expect(read).not.toThrow('marked');
  });

  test('no form of printing a configuration shows one, and every one is scrubbed from text', async () => {
    const config = await readConfig({
      file: join(ROOT, 'config/example.yaml'),
      directory,
      environment: SECRETS,
    });
    const printed = `${JSON.stringify(config)} ${inspect(config, { depth: null, showHidden: true })}`;
    expect(printed).not.toContain('marked');
    for (const secret of Object.values(SECRETS)) expect(scrub(`a ${secret} b`)).toBe('a *** b');
    expect(
      config.service.kind === 'http' && config.service.costHeaders['Authorization']?.reveal(),
    ).toBe(`Partner ${SECRETS.COST_KEY}`);
  });
});

describe('a configuration', () => {
  test('resolves paths against its own directory, addresses not at all', () => {
    const config = configOf(
      'service: simulator\nwarehouse: ../w.duckdb\npublish: [{ parquet: /lake }, { parquet: "s3://bucket/a" }, { duckdb: d, mode: 0600 }]',
      '/etc/ripen/ripen.yaml',
    );
    expect(config).toMatchObject({
      file: '/etc/ripen/ripen.yaml',
      warehouse: '/etc/w.duckdb',
      publish: [
        { kind: 'parquet', path: '/lake', mode: 0o644 },
        { kind: 'parquet', path: 's3://bucket/a', mode: 0o644 },
        { kind: 'duckdb', path: '/etc/ripen/d', mode: 0o600 },
      ],
    });
  });
});

const properties = z.record(z.string(), z.unknown());

/** Name and schema of every setting a JSON Schema knows, at any depth. */
function settingsIn(schema: unknown): [string, unknown][] {
  if (Array.isArray(schema)) return schema.flatMap(settingsIn);
  const node = properties.safeParse(schema);
  if (!node.success) return [];
  const named = properties.safeParse(node.data['properties']);
  return [
    ...(named.success ? Object.entries(named.data) : []),
    ...Object.values(node.data).flatMap(settingsIn),
  ];
}

/** What an editor that knows the schema complains about. */
const editorIssues = (text: string): readonly unknown[] =>
  z.fromJSONSchema({ ...configJsonSchema() }).safeParse(parse(text, { merge: true })).error
    ?.issues ?? [];

describe('the files that come with ripen', () => {
  test('config/ripen.schema.json is what the settings generate', async () => {
    const text = await readFile(join(ROOT, 'config/ripen.schema.json'), 'utf8');
    expect(text).toBe(`${JSON.stringify(configJsonSchema(), null, 2)}\n`);
  });

  test('an editor accepts the example with its variables', async () => {
    expect(editorIssues(await readFile(join(ROOT, 'config/example.yaml'), 'utf8'))).toEqual([]);
    expect(editorIssues('service: simulator\npartnrs: true')).not.toEqual([]);
    expect(editorIssues('service: simulator\narchive: 30 days')).not.toEqual([]);
  });

  test('an editor accepts braces, lists within lists, anchors, merges and slices that the defaults complete', () => {
    const text = `x-money: &money [["revenue_d{0..7}"]]
x-daily: &daily { dimensions: [[day, app]], refresh: nightly }
service: simulator
defaults: { metrics: [*money, installs], date_period: -7d:yesterday, types: { installs: BIGINT } }
slices: [{ name: a, <<: *daily }]`;
    expect(editorIssues(text)).toEqual([]);
    expect(editorIssues(text.replace('x-money', 'y-money'))).not.toEqual([]);
    expect(editorIssues(text.replace('name: a', 'refresh: x'))).not.toEqual([]);
  });

  test('every setting in the schema has a description', () => {
    const isDescribed = (schema: unknown): boolean =>
      properties.parse(schema)['description'] !== undefined;
    const undescribed = settingsIn(configJsonSchema()).filter(([, schema]) => !isDescribed(schema));
    expect(undescribed.map(([name]) => name)).toEqual([]);
  });

  test('config/example.yaml shows every setting there is, and the page of the configuration explains each', async () => {
    const text = await readFile(join(ROOT, 'config/example.yaml'), 'utf8');
    const page = await readFile(join(ROOT, 'docs/configuration.md'), 'utf8');
    const names = new Set(settingsIn(configJsonSchema()).map(([name]) => name));
    expect(names.size).toBeGreaterThan(60);
    expect([...names].filter((name) => !new RegExp(`\\b${name}:`).test(text))).toEqual([]);
    expect([...names].filter((name) => !new RegExp(`\\b${name}\\b`).test(page))).toEqual([]);
  });

  test('config/studio.yaml says twelve reports of forty metrics in at most 45 lines, all of them known to the simulator', async () => {
    const text = await readFile(join(ROOT, 'config/studio.yaml'), 'utf8');
    expect(text.trimEnd().split('\n').length).toBeLessThanOrEqual(45);
    expect(editorIssues(text)).toEqual([]);
    const source = {
      file: join(ROOT, 'config/studio.yaml'),
      directory: ROOT,
      environment: SECRETS,
    };
    const config = parseConfig(text, source);
    expect(config.slices).toHaveLength(12);
    const known = new Set(simulatedMetrics.keys());
    const odd = config.slices.filter(
      ({ metrics: named }) => new Set(named).size !== 40 || named.some((id) => !known.has(id)),
    );
    expect(odd).toEqual([]);
    expect(
      config.slices.filter(({ parameters }) => parameters['network__not_in'] === 'Organic'),
    ).toHaveLength(3);
    expect(resolvedText(inspectText(text, source)).split('\n').length).toBeGreaterThan(300);
  });
});

const source = { file: '/somewhere/ripen.yaml', directory: '/somewhere', environment: SECRETS };
const resolvedOf = (text: string): string => resolvedText(inspectText(text, source));

describe('a configuration as `check --resolved` prints it', () => {
  test.each(['example', 'demo'])(
    'states the same as config/%s.yaml, and shows no secret',
    async (name) => {
      const text = await readFile(join(ROOT, `config/${name}.yaml`), 'utf8');
      const resolved = resolvedOf(text);
      expect(resolved).not.toContain('marked');
      expect(JSON.stringify(parseConfig(resolved, { ...source, environment: {} }))).toBe(
        JSON.stringify(parseConfig(text, source)),
      );
      expect(resolvedOf(resolved)).toBe(resolved);
    },
  );

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
    column_mapping: false
  - duckdb: a
    mode: "0644"
archive: off
control: 400d
notify:
  url: https://***
  on: [ failed, recovered ]
audits: []
partners: true
links: false
slices:
  - name: a
    dimensions: [ day ]
    metrics: [ revenue_d0, revenue_d1, revenue_d2, installs ]
    max_metrics: 200
    date_period: -7d:yesterday
    week_starts_on: monday
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
    expect(() => resolvedOf('service: simulatr\npartners: maybe')).toThrow(
      /simulator\?\n.*:2:11: partners/,
    );
  });
});
