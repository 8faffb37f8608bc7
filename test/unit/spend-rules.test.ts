import { describe, expect, test } from 'vitest';

import { judgeLine, type JudgedLine } from '../../src/account/spend-rules.ts';
import { goodLine, NOW } from '../support/spend-fixture.ts';

const judge = (change: Readonly<Record<string, unknown>>): JudgedLine =>
  judgeLine({ line: 2, given: { ...goodLine, ...change }, defects: [] }, NOW);

const plainNumber =
  'cost_amount must be a plain number of at least 0, such as 0.25, without sign, exponent or separators';

describe('a line of ad spend', () => {
  test('that keeps every rule has no reasons', () => {
    expect(judge({})).toMatchObject({
      line: 2,
      reasons: [],
      untimely: null,
      values: { ...goodLine, engaged_at: '' },
    });
  });

  test('in another case of its currency is the same line, sent in upper case', () => {
    const [lower, upper] = [judge({ cost_currency: 'usd' }), judge({ cost_currency: 'USD' })];
    expect([lower.content, lower.reasons]).toEqual([upper.content, []]);
    expect(lower.values.cost_currency).toBe('USD');
  });

  test.each([
    ['a Cost ID of 12 characters', { cost_id: 'x'.repeat(12) }],
    ['a Cost ID of 256 characters', { cost_id: 'é'.repeat(256) }],
    ['a Cost ID of 12 characters outside the basic plane', { cost_id: '😀'.repeat(12) }],
    ['a tag of 128 characters', { tag: 'x'.repeat(128) }],
    ['a tag with a line break', { tag: 'two\nlines' }],
    ['an unfamiliar but well-formed cost type', { cost_type: 'cost_per_view' }],
    ['a currency in lower case', { cost_currency: 'usd' }],
    ['an amount of 0', { cost_amount: '0' }],
    ['an amount of 38 digits', { cost_amount: `${'9'.repeat(19)}.${'9'.repeat(19)}` }],
    ['an engagement exactly 7 days ago', { engaged_at: '2026-02-07T12:00:00Z' }],
    ['an engagement now, told in another zone', { engaged_at: '2026-02-14T13:30+01:30' }],
    [
      'an engagement on the day 7 days ago, some of which is not older',
      { engaged_at: '2026-02-07' },
    ],
    ['no engagement', { engaged_at: '' }],
    ['an engagement that is null', { engaged_at: null }],
  ])('may have %s', (_what, change) => {
    expect(judge(change)).toMatchObject({ reasons: [], untimely: null });
  });

  test.each([
    ['cost_id', '', 'cost_id was empty'],
    ['tag', '   ', 'tag was empty'],
    ['tag', true, 'tag must be text or a number'],
    ['cost_id', { id: 'sender-000001' }, 'cost_id must be text or a number'],
    ['tag', 'caf\uFFFD', 'tag was not UTF-8'],
    ['cost_id', 'x'.repeat(11), 'cost_id had 11 characters, not 12 to 256'],
    ['cost_id', 'x'.repeat(257), 'cost_id had 257 characters, not 12 to 256'],
    ['cost_id', 'sender-\u0000000001', 'cost_id contains a control character'],
    ['cost_id', ' sender-000001', 'cost_id begins or ends with a blank'],
    ['cost_type', 'CPC', 'cost_type must be a lower-case word such as cpc or cpi'],
    ['cost_currency', 'US', 'cost_currency must be an ISO 4217 code'],
    ['cost_currency', 'XXX', 'cost_currency must be an ISO 4217 code'],
    ['cost_amount', '-0.01', plainNumber],
    ['cost_amount', '1e3', plainNumber],
    ['cost_amount', '1,000.5', plainNumber],
    ['cost_amount', '5.', plainNumber],
    ['cost_amount', '0x10', plainNumber],
    ['cost_amount', '1'.repeat(39), 'cost_amount had 39 digits, more than 38'],
    ['tag', 'x'.repeat(129), 'tag had 129 characters, more than 128'],
    [
      'engaged_at',
      '2026-02-14T11:00:00',
      'engaged_at must be a date, or an ISO 8601 instant with its zone',
    ],
    ['engaged_at', '2026-02-30', 'engaged_at must be a date, or an ISO 8601 instant with its zone'],
    [
      'engaged_at',
      '2026-02-13T25:00:00Z',
      'engaged_at must be a date, or an ISO 8601 instant with its zone',
    ],
    ['engaged_at', 7, 'engaged_at must be text or a number'],
  ])('whose %s is %j is rejected for just that', (column, value, reason) => {
    expect(judge({ [column]: value }).reasons).toEqual([reason]);
  });

  test.each([
    ['2026-02-07T11:59:59.999Z', 'engaged_at was more than 7 days before 2026-02-14T12:00:00.000Z'],
    ['2026-02-14T12:00:00.001Z', 'engaged_at was later than 2026-02-14T12:00:00.000Z'],
  ])('engaged at %s is untimely', (engaged, untimely) => {
    expect(judge({ engaged_at: engaged })).toMatchObject({ reasons: [], untimely });
  });

  test('that breaks 7 rules is told all 7, in the order of the columns', () => {
    const { reasons } = judge({
      cost_id: 'short\n',
      cost_type: 'CPC',
      cost_currency: 'dollar',
      cost_amount: '-1',
      tag: 'x'.repeat(200),
    });
    const columns = 'cost_id cost_id cost_id cost_type cost_currency cost_amount tag';
    expect(reasons.map((reason) => reason.split(' ')[0]).join(' ')).toBe(columns);
  });

  test('keeps the text of its amount, and has the content of a line with an equal amount', () => {
    const [one, other] = [judge({ cost_amount: '1.50' }), judge({ cost_amount: '01.5' })];
    expect([one.values.cost_amount, other.values.cost_amount]).toEqual(['1.50', '01.5']);
    expect(one.content).toBe(other.content);
    expect(one.content).not.toBe(judge({ cost_amount: '1.51' }).content);
    expect(one.content).not.toBe(judge({ cost_amount: '1.5', tag: 'autumn' }).content);
  });
});

describe('the currencies', () => {
  const isCurrency = (code: string): boolean => judge({ cost_currency: code }).reasons.length === 0;

  test('hold no code that the runtime has never heard of, but for the 3 newest, funds and metals', () => {
    const unheard =
      'BOV CHE CHW CLF COU MXV USN UYI UYW VED XAD XAG XAU XBA XBB XBC XBD XCG XPD XPT XSU XUA ZWG'.split(
        ' ',
      );
    const heard = new Set([...Intl.supportedValuesOf('currency'), ...unheard]);
    const letters = Array.from({ length: 26 }, (_, index) => String.fromCodePoint(65 + index));
    const all = letters
      .flatMap((a) => letters.flatMap((b) => letters.map((c) => a + b + c)))
      .filter(isCurrency);
    expect(all.filter((code) => !heard.has(code))).toEqual([]);
    expect(all.length).toBeGreaterThan(170);
    expect(all).toEqual(expect.arrayContaining(['USD', 'EUR', 'JPY', 'KWD', 'XOF', 'ZMW']));
  });
});
