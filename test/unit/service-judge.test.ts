/** What an answer is thrown as that is none: the code, the words, the facts, and what to do. */

import { describe, expect, test } from 'vitest';

import { Failure } from '../../src/errors.ts';
import { type WireAnswer, type Ask } from '../../src/service/exchange.ts';
import { Setback } from '../../src/service/setback.ts';
import { judge } from '../../src/service/verdict.ts';

const NOW = Date.parse('2026-02-01T02:30:00Z');

const ask: Ask = {
  method: 'GET',
  origin: 'https://reports.example.com',
  target: '/reports-service/report?metrics=installs',
  headers: {},
  body: null,
  deadlineMs: 1000,
  repeats: 'all',
  triesWhenSlow: 1,
};

function answer(status: number, body = '', headers: Readonly<Record<string, string>> = {}): WireAnswer {
  async function* chunks(): AsyncGenerator<Buffer, void> {
    yield Buffer.from(body);
  }
  return { status, header: (name) => headers[name] ?? null, chunks: chunks() };
}

/** What judging ends with: a verdict, or what is thrown. */
async function judged(given: WireAnswer): Promise<unknown> {
  return judge(ask, given, 3, NOW).catch((error: unknown) => error);
}

async function failure(given: WireAnswer): Promise<Failure> {
  const outcome = await judged(given);
  if (outcome instanceof Failure) return outcome;
  throw new Error('expected a Failure', { cause: outcome });
}

test('an answer passes to be read, and so does an empty one', async () => {
  expect(await judged(answer(200, '{}'))).toBe('answer');
  expect(await judged(answer(204))).toBe('empty');
});

describe('what is not to be tried again', () => {
  test.each([
    [400, 'SOURCE_REFUSED', 'Correct what the service names'],
    [422, 'SOURCE_REFUSED', 'Correct what the service names'],
    [401, 'CREDENTIALS_REFUSED', 'Check the credentials'],
    [403, 'ACCESS_FORBIDDEN', 'Ask for access'],
    [404, 'SOURCE_MISSING', 'Check the addresses'],
    [410, 'SOURCE_MISSING', 'Check the addresses'],
    [418, 'SOURCE_REFUSED', 'Check what answers at the configured address'],
    [304, 'SOURCE_REFUSED', 'Check what answers at the configured address'],
  ])('%i is %s and says: %s', async (status, code, hint) => {
    const thrown = await failure(answer(status, '{"error_code":"request_error","error_desc":"No such thing"}'));
    expect(thrown.code).toBe(code);
    expect(thrown.hint).toMatch(new RegExp(`^${hint}.*\\.$`));
    expect(thrown.message).toBe(`GET /reports-service/report was answered ${status}: request_error: No such thing`);
    expect(thrown.facts).toEqual({
      origin: 'https://reports.example.com',
      endpoint: 'GET /reports-service/report',
      status,
      attempts: 3,
      said: 'request_error: No such thing',
    });
  });

  test('an answer without a word is said to have been without a reason', async () => {
    expect((await failure(answer(401))).message).toBe('GET /reports-service/report was answered 401 without a reason');
  });
});

describe('a redirect', () => {
  test.each([
    ['https://login.example.com/sign-in?token=abc', 'https://login.example.com'],
    ['/elsewhere?token=abc', 'https://reports.example.com'],
    ['//other.example.com/x', 'https://other.example.com'],
    ['file:///etc/passwd', 'file:///etc/passwd'],
    ['http://[', 'nowhere'],
    ['', 'nowhere'],
    [null, 'nowhere'],
  ])('to %j is named by its origin, %s, and not followed', async (location, target) => {
    const thrown = await failure(answer(302, 'moved', location === null ? {} : { location }));
    expect(thrown.code).toBe('SOURCE_REDIRECTED');
    expect(thrown.message).toBe(`GET /reports-service/report was redirected to ${target} (302)`);
    expect(thrown.hint).toContain('redirects are not followed');
    expect(thrown.facts).toEqual({
      origin: 'https://reports.example.com',
      endpoint: 'GET /reports-service/report',
      status: 302,
      attempts: 3,
      target,
    });
  });
});

describe('what may be tried again', () => {
  test.each([
    [429, 'overload'],
    [202, 'no answer'],
    [206, 'no answer'],
    [408, 'faulty'],
    [500, 'faulty'],
    [501, 'faulty'],
    [520, 'faulty'],
    [502, 'faulty'],
    [503, 'unavailable'],
    [504, 'too heavy'],
    [524, 'too heavy'],
  ])('%i is a setback of the kind %j, with the words of the service', async (status, kind) => {
    const thrown = await judged(answer(status, 'Come back later'));
    expect(thrown).toBeInstanceOf(Setback);
    expect(thrown).toMatchObject({
      setback: kind,
      because: String(status),
      retryAfterMs: null,
      message: `was answered ${status}: Come back later`,
    });
  });

  test('Retry-After as a date is held against the Date and the Age of the answer together', async () => {
    const date = 'Sun, 01 Feb 2026 02:00:00 GMT';
    const headers = { date, age: '60', 'retry-after': 'Sun, 01 Feb 2026 02:02:00 GMT' };
    expect(await judged(answer(503, '', headers))).toMatchObject({ retryAfterMs: 60_000 });
  });

  test.each([
    ['120', 'Sun, 01 Feb 2026 02:00:00 GMT', 120_000],
    ['Sun, 01 Feb 2026 02:02:00 GMT', 'Sun, 01 Feb 2026 02:00:00 GMT', 120_000],
    ['Sun, 01 Feb 2026 02:32:00 GMT', null, 120_000],
    ['Sun, 01 Feb 2026 02:32:00 GMT', 'no date', 120_000],
  ])(
    'Retry-After: %s, answered at %s, asks for %i ms: by the clock of the service, else by ours',
    async (asked, at, ms) => {
      const headers = { 'retry-after': asked, ...(at === null ? {} : { date: at }) };
      expect(await judged(answer(503, '', headers))).toMatchObject({ retryAfterMs: ms });
    },
  );
});
