import { describe, expect, test } from 'vitest';
import { linkSignals, realClock } from '../../src/service/clock.ts';
import { skewOf } from '../../src/service/exchange.ts';

describe("the machine's clock", () => {
  test('ends a sleep of an hour with the reason of an abort, before it and within it', async () => {
    const controller = new AbortController();
    const sleeping = realClock.sleep(3_600_000, controller.signal);
    controller.abort(new Error('enough'));
    await expect(sleeping).rejects.toThrow('enough');
    await expect(realClock.sleep(3_600_000, controller.signal)).rejects.toThrow('enough');
  });
});

describe('linked signals', () => {
  test('abort with the first reason of several, also of one that had aborted before', () => {
    const [first, second] = [new AbortController(), new AbortController()];
    const linked = linkSignals(first.signal, second.signal);
    second.abort('second');
    first.abort('first');
    expect(linked.signal.reason).toBe('second');
    expect(linkSignals(first.signal).signal.reason).toBe('first');
  });

  test('no longer abort once unlinked', () => {
    const source = new AbortController();
    const linked = linkSignals(source.signal);
    linked.unlink();
    source.abort();
    expect(linked.signal.aborted).toBe(false);
  });
});

describe('the skew of two clocks', () => {
  const date = 'Sun, 01 Feb 2026 00:00:10 GMT';
  const second = Date.parse(date);

  test.each([
    ['0.001 s before the second', second - 1, 1],
    ['at its start', second, 0],
    ['at its end', second + 999, 0],
    ['90 s after its end', second + 91_000, -90_000],
    ['an hour before', second - 3_600_000, 3_600_000],
  ])('read %s is the least that the Date header proves', (_, now, skew) => {
    expect(skewOf(date, null, now)).toBe(skew);
  });

  test.each([
    ['3600', second + 3_600_000, 0],
    ['3600', second + 3_601_900, 0],
    ['3600', second, 3_600_000],
    ['60, 7', second + 60_000, 0],
    ['0', second + 91_000, -89_000],
    ['soon', second + 60_000, -58_000],
    ['-60', second, 0],
  ])('beside an Age of %s is read with it: at %i it is %i ms', (age, now, skew) => {
    expect(skewOf(date, age, now)).toBe(skew);
  });

  test('is not learned from a header that is missing or no date', () => {
    expect([skewOf(null, '10', second), skewOf('today', null, second)]).toEqual([null, null]);
  });
});
