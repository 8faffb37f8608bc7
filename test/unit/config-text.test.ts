import { describe, expect, test } from 'vitest';

import { fillVariables } from '../../src/config/variables.ts';
import { parseConfig } from '../../src/config/read-config.ts';
import type { Config } from '../../src/config/config.ts';

const parse = (text: string, environment: Record<string, string> = {}): Config =>
  parseConfig(text, { file: '/somewhere/ripen.yaml', directory: '/somewhere', environment });

const withSlice = (settings: string): string =>
  `service: simulator\nslices:\n  - name: daily\n    dimensions: [day]\n    metrics: [installs]\n    date_period: -7d:yesterday\n${settings}`;

describe('variables', () => {
  test.each([
    ['${A}', 'one'],
    ['a-${A}-${B}', 'a-one-two'],
    ['${A:-x}', 'one'],
    ['${NONE:-x y}', 'x y'],
    ['${NONE:-}', ''],
    ['${EMPTY:-x}', 'x'],
    ['${EMPTY}', ''],
    ['$${A}', '${A}'],
    ['$$$A', '$$A'],
    ['$A 5$', '$A 5$'],
    ['${LOOP}', '${A}'],
  ])('%j becomes %j', (text, filled) => {
    const environment = { A: 'one', B: 'two', EMPTY: '', LOOP: '${A}' };
    expect(fillVariables(text, environment, 'value')).toMatchObject({ text: filled, problem: null });
  });

  test.each(['${A', '${}', '${a b}', '${1A}', '${A-x}'])('%j cannot be read', (text) => {
    expect(fillVariables(text, { A: 'one' }, 'value').problem).toContain('cannot be read');
  });

  test('names every object has are not variables', () => {
    expect(fillVariables('${constructor}', {}, 'value').problem).toContain('variable constructor is not set');
  });

  test('a missing variable is one problem at its value, and the value is not complained about besides', () => {
    expect(() => parse('service:\n  simulator:\n    apps: ${APPS}')).toThrow(
      /^ripen\.yaml:3:11: service\.simulator\.apps: environment variable APPS is not set; set it or write \$\{APPS:-default\}$/,
    );
  });

  test('of a credential that is missing no default is suggested', () => {
    const service = 'base_url: https://c.example.com, reports_url: https://r.example.com';
    const headers = 'token: "${T}", headers: { X-Account: "${X}" }, cost_headers: { Authorization: "Partner ${C}" }';
    const refused = (): Config => parse(`service: { ${service}, ${headers} }`);
    expect(refused).toThrow(/variable T is not set; set it\n.*X is not set; set it\n.*C is not set; set it$/);
    const inFiles = (): Config => parse(`service: { ${service}, token_file: "\${D}/token", ca_file: "\${A}" }`);
    expect(inFiles).toThrow(/variable D is not set; set it\n.*A is not set; set it$/);
  });

  test('what asks the service nothing does without credentials, set to nothing or in a file that is not there', () => {
    const read = (credential: string, environment: Record<string, string>): Config =>
      parseConfig(`service: { base_url: https://c.example.com, reports_url: https://r.example.com, ${credential} }`, {
        file: '/somewhere/ripen.yaml',
        directory: '/somewhere',
        environment,
        offline: true,
      });
    expect(read('token: "${T}"', {}).service.kind).toBe('http');
    expect(read('token: "${T}"', { T: '' }).service.kind).toBe('http');
    expect(read('token_file: /run/secrets/none', {}).service.kind).toBe('http');
    expect(read('token_file: "${CREDENTIALS_DIRECTORY}/token", ca_file: "${CA}"', {}).service.kind).toBe('http');
    expect(() => read('token: "${T}", max_concurrency: "${M}"', {})).toThrow(/M is not set; set it or write/);
  });

  test('a value from the environment becomes a number or a truth value where one is wanted', () => {
    const text = 'service: { simulator: { seed: "${SEED}" } }\nlinks:\n  max_level: ${LEVEL:-2}\npartners: ${PARTNERS}';
    const config = parse(text, { SEED: '7', PARTNERS: 'false' });
    expect(config.service).toMatchObject({ seed: 7 });
    expect(config.links).toEqual({ apps: 'all', maxLevel: 2 });
    expect(config.partners).toBe(false);
  });

  test('a value from the environment stays text where text is wanted, whatever it spells', () => {
    expect(parse('service: simulator\nname: "${N}"', { N: '123' }).name).toBe('123');
  });

  test('what does not spell a number is refused where one is wanted, and so is a number written as text', () => {
    expect(() => parse('service: { simulator: { seed: "${SEED}" } }', { SEED: '0x7' })).toThrow(
      /seed: is text; must be/,
    );
    expect(() => parse('service: { simulator: { seed: "7" } }')).toThrow(/seed: is text; must be a whole number/);
  });

  test('between braces a variable without quotes is not YAML, and the message says what to do', () => {
    expect(() => parse('service: { token: ${TOKEN} }')).toThrow(
      /^ripen\.yaml:1:20: not YAML: a variable between \{ \} or \[ \] must stand in quotes: "\$\{NAME\}"$/,
    );
  });

  test('what a variable holds is never read as YAML and never shown', () => {
    const environment = { MODE: 'nightly, metrics: [s3cret-word]' };
    expect(() => parse(withSlice('    refresh: ${MODE}'), environment)).toThrow(/refresh: the value is not allowed/);
    expect(() => parse(withSlice('    refresh: ${MODE}'), environment)).not.toThrow(/s3cret-word/);
  });

  test('a key is never filled', () => {
    expect(() => parse('service: simulator\n${KEY}: true', { KEY: 'partners' })).toThrow(
      /variables are filled in values only/,
    );
  });
});

describe('YAML', () => {
  test('JSON is read as it is', () => {
    expect(parse('{"service": {"simulator": {"seed": 3}}, "partners": false}').service).toMatchObject({ seed: 3 });
  });

  test('an anchor can be used again', () => {
    const config = parse(
      withSlice('    os_names: &os [ios, android]\n    filters: { os_name__in: *os, platform__in: *os }'),
    );
    expect(config.slices[0]?.parameters).toMatchObject({ os_name__in: 'ios,android', platform__in: 'ios,android' });
  });

  test.each(['', '%YAML 1.1\n---\n'])(
    'NO is a country, and nothing else is a word for false, behind %j',
    (directive) => {
      const config = parse(`${directive}${withSlice('    filters: { country_code__in: [NO, no, off] }')}`);
      expect(config.slices[0]?.parameters['country_code__in']).toBe('NO,no,off');
    },
  );

  test('an id longer than 2^53 and a number with trailing zeros are sent as they were written', () => {
    const config = parse(
      withSlice('    filters: { campaign_id_network__in: [12345678901234567890, 007, -300], cost__gte: 0.10 }'),
    );
    expect(config.slices[0]?.parameters).toMatchObject({
      campaign_id_network__in: '12345678901234567890,007,-300',
      cost__gte: '0.10',
    });
  });

  test.each([
    ['a key stated twice', 'service: simulator\npartners: true\npartners: false', '3:1', 'stated twice'],
    ['a code tag', 'service: !!js/function s3cret-word', '1:', 'carries a YAML tag'],
    ['a tag of its own', 'service: !s3cret-word simulator', '1:', 'carries a YAML tag'],
    ['a tag of an unknown family', 'service: !s3cret!word simulator', '1:', 'carries a YAML tag'],
    ['a set', 'service: simulator\nlinks: !!set { a, b }', '2:', 'carries a YAML tag'],
    ['an alias of nothing', 'service: *s3cret-word', '1:10', 'is an alias of an anchor that does not stand before it'],
    ['an alias of itself', 'service: &a { headers: *a }', '1:24', 'is an alias of what it is a part of'],
    ['a merge of what is no mapping', 'service: simulator\n<<: s3cret-word', '2:5', 'merges what is no mapping'],
    ['a second document', 'service: simulator\n---\npartners: true', '2:1', 'not YAML'],
    ['a tab', 'service:\n\ttoken: s3cret-word', '2:1', 'not YAML'],
    ['an open bracket', 'service: [s3cret-word', '1:', 'not YAML'],
    ['an open quote', 'service: "s3cret-word', '1:', 'not YAML'],
    ['an unknown escape', 'service: "\\s3cret-word"', '1:', 'not YAML'],
    ['extra block header text', 'service: |s3cret-word\n  x', '1:', 'not YAML'],
    ['the key __proto__', 'service: simulator\n__proto__: { partners: false }', '1:1', 'keys are plain text'],
    ['a list for a key', 'service: simulator\n? [a]\n: 1', '1:1', 'keys are plain text'],
  ])('%s is refused at its place', (_, text, position, words) => {
    expect(() => parse(text)).toThrow(words);
    expect(() => parse(text)).toThrow(`ripen.yaml:${position}`);
    expect(() => parse(text)).not.toThrow('s3cret-word');
  });

  const tenOf = (text: string): string => Array.from({ length: 10 }, () => text).join(', ');
  const levels = (levelText: (level: number) => string): string =>
    Array.from({ length: 12 }, (_, level) => levelText(level)).join('\n');
  test.each([
    ['aliases', levels((level) => `a${level}: &a${level} [${tenOf(level === 0 ? 'x' : `*a${level - 1}`)}]`)],
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
    expect(() => parse(`${'['.repeat(100)}${']'.repeat(100)}`)).toThrow(/nested more than 50 levels deep/);
    expect(() => parse(`a:\n  ${'['.repeat(20_000)}`)).toThrow(/:2:\d+: is nested too deeply to be read/);
  });
});
