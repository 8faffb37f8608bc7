import { describe, expect, test } from 'vitest';
import { retryAfterMs, waitMs } from '../../src/service/clock.ts';

const at = Date.parse('2026-02-01T00:00:00Z');

describe('Retry-After', () => {
  test.each([
    ['120', 120_000],
    [' 7 ', 7000],
    ['Sun, 01 Feb 2026 00:01:30 GMT', 90_000],
    ['Sun, 01 Feb 2026 00:00:00 GMT', null],
    ['Sat, 31 Jan 2026 00:00:00 GMT', null],
    ['0', null],
    ['-5', null],
    ['1.5', null],
    ['soon', null],
    ['', null],
    [null, null],
  ])('%j asks for %j ms', (header, ms) => {
    expect(retryAfterMs(header, at)).toBe(ms);
  });
});

describe('the wait before the next try', () => {
  test('is what the service asked for, in full up to 5 minutes', () => {
    const asked = (askedMs: number): number => waitMs({ tries: 1, askedMs, isOverload: true, random: 0 });
    expect([asked(120_000), asked(300_000), asked(3_600_000)]).toEqual([120_000, 300_000, 300_000]);
  });

  test('is anything up to 1, 2, 4 … 60 s after an outage', () => {
    const waits = [1, 2, 3, 6, 7, 50].map((tries) => {
      const wait = (random: number): number => waitMs({ tries, askedMs: null, isOverload: false, random });
      return [wait(0), wait(1)];
    });
    expect(waits).toEqual([
      [0, 1000],
      [0, 2000],
      [0, 4000],
      [0, 32_000],
      [0, 60_000],
      [0, 60_000],
    ]);
  });

  test('is at least half of that after a 429', () => {
    const wait = (random: number): number => waitMs({ tries: 3, askedMs: null, isOverload: true, random });
    expect([wait(0), wait(1)]).toEqual([2000, 4000]);
  });
});
