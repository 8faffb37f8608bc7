/** Durations, decimals and column types: the small exact nouns, as tables. The laws are in test/property. */

import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

import { describe, expect, test } from 'vitest';

import {
  BIGINT,
  decimalType,
  DOUBLE,
  formatColumnType,
  MONEY,
  parseColumnType,
  parseDecimal,
  widen,
} from '../../src/model/column-type.ts';
import { parseDuration, timeoutSignal } from '../../src/model/duration.ts';

describe('a duration', () => {
  test.each([
    ['0s', 0],
    ['1s', 1000],
    ['90m', 5_400_000],
    ['1.5h', 5_400_000],
    ['1d', 86_400_000],
    ['30d', 2_592_000_000],
    ['0.001s', 1],
    ['0.0004s', 0],
  ])('%s is %i ms', (text, ms) => {
    expect(parseDuration(text)).toBe(ms);
  });

  test.each(['', ...'5|m|-5m|+5m|5 m| 5m|5m |5ms|5w|5M|1h30m|.5h|5.h|1e3s|5m\n'.split('|')])(
    '%j is none',
    (text) => {
      expect(parseDuration(text)).toBeNull();
    },
  );
});

describe('a decimal', () => {
  const noNumbers =
    ' |.|-|+|-.|e5|.e5|NaN|nan|Infinity|-Infinity|inf|1,234.5|1.234,5|1_000|0x10|0b1|1e|1e+|1e1.5|1e401|1e-401|' +
    "1e99999999999|--1|+-1|1-|1 000|12abc|abc|null|true|٣|１|½|$5|5%|1'000";

  test.each(['', ...noNumbers.split('|')])('%j states no number', (text) => {
    expect(parseDecimal(text)).toBeNull();
  });
});

describe('a column type', () => {
  test.each([
    ['BIGINT', BIGINT],
    ['bigint', BIGINT],
    ['DOUBLE', DOUBLE],
    ['DECIMAL(18,6)', MONEY],
    ['decimal( 18 , 6 )', MONEY],
    ['DECIMAL(38,0)', decimalType(38, 0)],
    ['DECIMAL(1,1)', decimalType(1, 1)],
  ])('is read from %s, and reads back as it is written', (text, type) => {
    expect(parseColumnType(text)).toEqual(type);
    expect(parseColumnType(formatColumnType(type))).toEqual(type);
  });

  const noTypes =
    'VARCHAR|INTEGER|FLOAT|DECIMAL|DECIMAL(18)|UDECIMAL(18,6)|DECIMAL(18,6)[]|DECIMAL(0,0)|DECIMAL(39,0)|DECIMAL(5,6)|DECIMAL(18,-1)|BIGINT[]';

  test.each(['', ...noTypes.split('|')])('is not read from %j', (text) => {
    expect(parseColumnType(text)).toBeNull();
  });

  const widening: readonly [string, number, number, string | null][] = [
    ['BIGINT', 0, 0, 'BIGINT'],
    // The largest BIGINT has 19 digits, and so have some numbers it cannot hold.
    ['BIGINT', 19, 0, 'DECIMAL(19,0)'],
    ['BIGINT', 20, 0, 'DECIMAL(20,0)'],
    ['BIGINT', 39, 0, null],
    ['BIGINT', 1, 1, 'DECIMAL(20,1)'],
    ['BIGINT', 1, 19, 'DECIMAL(38,19)'],
    ['BIGINT', 1, 20, null],
    ['DECIMAL(18,6)', 1, 7, 'DECIMAL(19,7)'],
    ['DECIMAL(18,6)', 13, 0, 'DECIMAL(19,6)'],
    ['DECIMAL(18,6)', 32, 6, 'DECIMAL(38,6)'],
    ['DECIMAL(18,6)', 33, 0, null],
    ['DECIMAL(18,6)', 0, 27, null],
    // Up to 18 digits a wider column costs nothing.
    ['DECIMAL(5,2)', 4, 2, 'DECIMAL(18,2)'],
    ['DOUBLE', 300, 300, 'DOUBLE'],
  ];

  test.each(widening)(
    '%s that must hold %i digits and %i after the point becomes %s',
    (text, ...row) => {
      const [whole, fraction, expected] = row;
      const wider = widen(parseColumnType(text) ?? DOUBLE, { whole, fraction });
      expect(wider && formatColumnType(wider)).toBe(expected);
    },
  );
});

test('a time-out to which only another signal refers fires, however often memory is collected', async () => {
  setFlagsFromString('--expose-gc');
  const signal = AbortSignal.any([new AbortController().signal, timeoutSignal(60)]);
  const timer = setInterval(() => void runInNewContext('gc')(), 5);
  await sleep(200);
  clearInterval(timer);
  expect(signal.aborted).toBe(true);
});
