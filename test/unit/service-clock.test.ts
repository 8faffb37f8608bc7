import { describe, expect, test } from 'vitest';
import { realClock } from '../../src/service/clock.ts';
import { linkSignals } from '../../src/service/linked-signal.ts';
import { Tally } from '../../src/service/tally.ts';

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
    const tally = new Tally();
    tally.readClock(date, now);
    expect(tally.skewMs).toBe(skew);
  });

  test('is not learned from a header that is missing or no date', () => {
    const tally = new Tally();
    tally.readClock(null, second);
    tally.readClock('today', second);
    expect(tally.skewMs).toBeNull();
  });
});
