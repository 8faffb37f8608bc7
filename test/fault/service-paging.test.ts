/** FAULTS 19, 19a and the intruder they guard against: what lists and reports say of their next page, and what is requested then. */

import { basename, join } from 'node:path';

import { beforeEach, describe, expect, test } from 'vitest';

import { Failure } from '../../src/errors.ts';
import { nextTarget } from '../../src/service/paging.ts';
import type { SavedBody } from '../../src/service/service.ts';
import { readHead } from '../../src/extract/columns/slice-reading.ts';
import { paginationIn } from '../../src/extract/envelope.ts';
import { textWith } from '../support/matching.ts';
import {
  type Connection,
  failureFrom,
  json,
  markedToken,
  type Script,
  type ScriptedServer,
  startScriptedServer,
  type Overrides,
  useDirectory,
  useService,
} from '../support/scripted-server.ts';

let server: ScriptedServer;
let connection: Connection;

async function serve(
  script: Script = () => json({ rows: [] }),
  settings: Overrides = {},
): Promise<void> {
  ({ server, connection } = await useService(script, settings));
}

describe('a list', () => {
  async function partnerIds(): Promise<string[]> {
    const ids: string[] = [];
    for await (const page of connection.service.partners(connection.signal))
      ids.push(...page.map(({ id }) => id));
    return ids;
  }
  const page = (ids: number | readonly number[], next: string | null) => {
    const items = [ids].flat().map((id) => {
      return { id, display_name: 'P', supports_cost_data: true };
    });
    return json({ data: { items, paging: { next } } });
  };
  const after = (cursor: string): string => `/public/v1/partners?after=${cursor}`;

  test('whose next page is itself stops after 1 page', async () => {
    await serve((request) => page(1, request.target));
    expect(await failureFrom(partnerIds())).toMatchObject({
      code: 'SOURCE_ENDLESS_PAGES',
      facts: { pages: 1 },
    });
  });

  test.each([
    ['repeats the items of page 1', [1, 2]],
    ['repeats them in another order', [2, 1]],
  ])('whose page 2 of 3 %s fails: others are missing', async (_, second) => {
    await serve(({ query }) => {
      if (query.get('after') === 'b') return page(5, null);
      return query.has('after') ? page(second, after('b')) : page([1, 2], after('a'));
    });
    expect(await failureFrom(partnerIds())).toMatchObject({
      code: 'SOURCE_ENDLESS_PAGES',
      message: textWith('repeated items of an earlier page'),
      facts: { pages: 2 },
    });
  });

  test.each([
    ['once is read once more, and has each item once', 1, ['1', '2', '3', '4', '5', '6']],
    ['again as it is read once more fails as a passing fault', 2, 'SOURCE_UNAVAILABLE'],
  ])('to which an item is added between 2 pages %s', async (_, additions, outcome) => {
    let items = [1, 2, 3, 4, 5];
    let reading = 0;
    await serve(({ query }) => {
      const offset = Number(query.get('after') ?? 0);
      const end = offset + 2;
      const reply = page(items.slice(offset, end), end < items.length ? after(`${end}`) : null);
      if (offset === 0) reading += 1;
      if (offset === 0 && reading <= additions) items = [5 + reading, ...items];
      return reply;
    });
    const read = partnerIds().then(
      (ids) => ids.toSorted(),
      (error: unknown) => Object(error).code as unknown,
    );
    expect(await read).toEqual(outcome);
    expect(reading).toBe(2);
  });

  test('whose next page is at another origin is not followed: the token never leaves its own', async () => {
    const elsewhere = await startScriptedServer(() => page(2, null));
    await serve(() => page(1, `${elsewhere.origin}${after('a')}`));
    expect((await failureFrom(partnerIds())).message).toContain(
      `led to ${elsewhere.origin} instead of ${server.origin}`,
    );
    expect(elsewhere.received).toHaveLength(0);
  });

  test('of which one page of 3 fails for ever fails, after the pages before it were handed on', async () => {
    await serve(({ query }) => {
      if (query.get('after') === 'b') return { status: 500 };
      return query.has('after') ? page(2, after('b')) : page(1, after('a'));
    });
    const partners = connection.service.partners(connection.signal);
    for (const _ of [1, 2]) expect(((await partners.next()).value ?? []).length).toBe(1);
    expect(await failureFrom(partners.next())).toMatchObject({
      code: 'SOURCE_UNAVAILABLE',
      facts: { attempts: 6 },
    });
  });

  test('of which a page is reset once has it requested again, and no item twice', async () => {
    await serve((_, count) => {
      if (count === 2) return { ...page(2, null), cutAfter: 10 };
      return count === 1 ? page(1, after('a')) : page(2, null);
    });
    expect(await partnerIds()).toEqual(['1', '2']);
    expect(server.received.map(({ target }) => target)).toEqual([
      '/public/v1/partners',
      after('a'),
      after('a'),
    ]);
  });

  test('of links that only name a cursor goes on at v1, where v2 is absent', async () => {
    await serve(({ path, query }) => {
      if (path.startsWith('/public/v2/')) return { status: 404 };
      const isFirst = query.get('after') === null;
      const items = [{ token: isFirst ? 'one' : 'two', level: 1, has_subtrackers: false }];
      return json({ data: { items, paging: { cursors: { after: isFirst ? 'a' : null } } } });
    });
    const tokens: string[] = [];
    for await (const links of connection.service.links('abc123def456', null, connection.signal)) {
      tokens.push(...links.map(({ token }) => token));
    }
    expect(tokens).toEqual(['one', 'two']);
  });

  test('of the links of an app that is answered 204 is empty', async () => {
    await serve(() => ({ status: 204 }));
    const links = connection.service.links('abc123def456', null, connection.signal);
    expect(await links.next()).toEqual({ done: true, value: undefined });
    expect(server.received).toHaveLength(1);
  });

  test.each([[json({ data: { paging: { next: null } } })], [{ status: 204 }]])(
    'of partners answered %j is no empty list, but an error of the answer',
    async (reply) => {
      await serve(() => reply);
      expect(await failureFrom(partnerIds())).toMatchObject({
        code: 'SOURCE_GARBLED',
        facts: { attempts: 2 },
      });
    },
  );
});

describe('the pagination of a page', () => {
  const origin = 'https://reports.example.com';
  const next = (pagination: unknown): string | null =>
    nextTarget(pagination, '/report?metrics=a,b&cursor=old', origin);

  const ends: readonly unknown[] = [
    [
      null,
      undefined,
      false,
      '',
      [],
      {},
      { page: 1, next: null },
      { next: ' ' },
      { cursor: 'x', next: null },
    ],
    [
      { next: null, cursors: { after: 'x', before: 'y' } },
      { cursors: { after: null, before: 'y' } },
    ],
    [
      { page: 1, total_pages: 1 },
      { page: '3', pages: '3', page_size: 8 },
      { current_page: 2, last_page: 2, total: 9 },
    ],
    [
      { page: 1, has_more: false },
      { has_next: false, total_pages: 1 },
      { total_pages: 0 },
      { page: 0, total_pages: 1 },
    ],
  ].flat();
  test.each(ends.map((end) => [end]))('%j names no next page', (pagination) => {
    expect(next(pagination)).toBeNull();
  });

  test.each<[unknown, string]>([
    [{ next: 'https://reports.example.com/report?cursor=a' }, '/report?cursor=a'],
    [{ next: '/elsewhere?after=a%2Fb', cursor: 'b' }, '/elsewhere?after=a%2Fb'],
    [{ next: '?after=a', cursors: { after: 'b' } }, '/report?after=a'],
    [{ next: 'https://user:password@reports.example.com/r?q=a?b#part' }, '/r?q=a?b'],
    [{ next: 'eyJkIjoxfQ==' }, '/report?metrics=a,b&cursor=eyJkIjoxfQ%3D%3D'],
    [{ next: '.eJx' }, '/report?metrics=a,b&cursor=.eJx'],
    [{ next: 2 }, '/report?metrics=a,b&cursor=2'],
    [
      { next: 'b', cursors: { after: 'a/b+c=&d' } },
      '/report?metrics=a,b&cursor=old&after=a%2Fb%2Bc%3D%26d',
    ],
    [{ cursors: { after: 41 }, cursor: 'b' }, '/report?metrics=a,b&cursor=old&after=41'],
    [{ cursor: 'b' }, '/report?metrics=a,b&cursor=b'],
  ])('%j goes on with %j', (pagination, target) => {
    expect(next(pagination)).toBe(target);
  });

  test.each([
    'https://evil.example.com/report?cursor=a',
    'http://reports.example.com/report?cursor=a',
    'https://reports.example.com:444/report',
    '//evil.example.com/report',
    'https://reports.example.com@evil.example.com/report',
    'https://[',
    'ftp://a/?',
  ])('is not followed to %s', (address) => {
    expect(() => next({ next: address })).toThrow('instead of https://reports.example.com');
  });

  const unread: readonly unknown[] = [
    [
      true,
      'more',
      7,
      ['/next'],
      { next: { href: '/next' } },
      { next: true },
      { next: 2 ** 60 },
      { total_pages: 2 },
    ],
    [
      { page: 1, page_size: 8, total_pages: 2, total: 9 },
      { has_more: true, next_page: 2 },
      { page: 0, total_pages: 2 },
    ],
    [
      { current_page: 1, last_page: 2 },
      { page: 1, page_size: 8, total: 7 },
      { links: { next: '/2' } },
    ],
    [
      { page: 1, total_pages: 1, has_more: true },
      { cursors: { after: null }, has_more: true },
    ],
  ].flat();
  test.each(unread.map((pagination) => [pagination]))(
    '%j is none that is known, and so no end',
    (pagination) => {
      expect(() => next(pagination)).toThrow(Failure);
      expect(() => next(pagination)).toThrow('named neither a next page nor a known end');
    },
  );
});

describe('the stated number of rows', () => {
  const next = (pagination: unknown, rows: number) => () =>
    nextTarget(pagination, '/report', 'https://reports.example.com', rows);

  test.each([
    [{ total_rows: 9 }, 9],
    [{ total_rows: '9', per_page: 8, page: 1 }, 9],
    [{ total_rows: 9, page_size: 8, page: 2 }, 1],
  ])('in %j is complete after %d rows', (pagination, rows) => {
    expect(next(pagination, rows)()).toBeNull();
  });

  test.each([
    [{ total_rows: 9 }, 8],
    [{ total_rows: 9, page_size: 8, page: 1 }, 8],
    [{ total_rows: 9, has_more: true }, 9],
  ])('in %j is no end after %d rows', (pagination, rows) => {
    expect(next(pagination, rows)).toThrow('named neither a next page nor a known end');
  });
});

describe('a report', () => {
  let directory: string;
  beforeEach(async () => {
    directory = await useDirectory();
  });

  const save = () => {
    const request = {
      parameters: { metrics: 'installs,clicks', utc_offset: '+00:00' },
      pathFor: () => join(directory, String(server.received.length)),
      readPage: async (page: SavedBody) => {
        const head = await readHead(page);
        return { ...head, pagination: paginationIn(head.members) };
      },
    };
    return connection.service.report(request, connection.signal);
  };
  const report = '/reports-service/report?metrics=installs,clicks&utc_offset=%2B00:00';
  const targets = (): string[] => server.received.map(({ target }) => target);
  /** A page whose rows no other page has. */
  const page = (no: number, pagination: unknown) =>
    json({ rows: [{ installs: String(no) }], pagination });

  test('is followed from the first page to the third and last, by what each says of the next', async () => {
    const nexts = ['/reports-service/report?page=2', 'c3', null];
    await serve((_, count) => page(count, { next: nexts[count - 1] }));
    const { pages, ...rest } = await save();
    expect(rest).toEqual({ unfollowed: null, requests: 3 });
    expect(pages.map(({ path }) => basename(path))).toEqual(['0', '1', '2']);
    expect(targets()).toEqual([
      `${report}&format_dates=false`,
      '/reports-service/report?page=2&format_dates=false',
      '/reports-service/report?page=2&cursor=c3&format_dates=false',
    ]);
  });

  test.each([
    ['/elsewhere?cursor=a%2Fb', '/elsewhere?cursor=a%2Fb&format_dates=false'],
    ['/r?format_dates=true&a=%5B1%5D,2&format%5Fdates=1', '/r?a=%5B1%5D,2&format_dates=false'],
  ])('whose next page is at %s is requested there as %s, under the token', async (next, target) => {
    await serve((_, count) => page(count, count === 1 ? { next } : null));
    await save();
    expect(targets().slice(1)).toEqual([target]);
    expect(server.received[1]?.headers.authorization).toBe(`Bearer ${markedToken}`);
  });

  test('whose next page is at another origin says so, and requests nothing there', async () => {
    const elsewhere = await startScriptedServer(() => json({ rows: [] }));
    await serve(() => page(1, { next: `${elsewhere.origin}/r?c=1` }));
    expect((await save()).unfollowed).toContain(elsewhere.origin);
    expect(elsewhere.received).toHaveLength(0);
  });

  test.each<[string, Script, number, number, string | null]>([
    ['names itself', ({ target }) => page(1, { next: target }), 2, 2, 'repeated the rows'],
    ['leads back', (_, count) => page(count, { next: `?c=${count % 2}` }), 3, 3, 'in a loop'],
    ['repeats rows', (_, count) => page(1, { next: `?c=${count}` }), 2, 2, 'repeated the rows'],
    [
      'is empty amid',
      (_, count) =>
        json({
          rows: count === 2 ? [] : [{ installs: String(count) }],
          pagination: { next: [2, 3, null][count - 1] },
        }),
      3,
      3,
      null,
    ],
    [
      'is empty',
      (_, count) => json({ rows: [], pagination: { next: count + 1 } }),
      2,
      2,
      'repeated the rows',
    ],
    ['ends at once (204)', () => ({ status: 204 }), 0, 1, null],
    [
      'ends amid (204)',
      (_, count) => (count > 1 ? { status: 204 } : page(1, { next: 2 })),
      1,
      4,
      'had no content',
    ],
    [
      'holds all of total_rows, and names a next page without content',
      (_, count) => (count > 1 ? { status: 204 } : page(1, { next: 2, total_rows: 1 })),
      1,
      2,
      null,
    ],
    [
      'holds all of total_rows, and names itself as the next page',
      (_, count) => page(1, { next: count + 1, total_rows: 1 }),
      1,
      2,
      null,
    ],
    [
      'has no content twice',
      (_, count) =>
        count === 1 || count > 3 ? page(count, { next: count === 1 ? 2 : null }) : { status: 204 },
      2,
      4,
      null,
    ],
  ])('that %s', async (_, script, pages, requests, unfollowed) => {
    await serve(script);
    const saved = await save();
    expect([saved.pages.length, saved.requests]).toEqual([pages, requests]);
    expect(saved.unfollowed).toEqual(unfollowed === null ? null : textWith(unfollowed));
  });

  const other = '{"page":1,"total_pages":9,"next":"/elsewhere"}';
  const rows = (count: number): string =>
    `"rows":[${Array(count).fill(`{"installs":"1","attr_dependency":{"pagination":${other}},"a\\"":"{[\\\\"}`).join()}]`;
  const own = '{"next":"/2"}';
  const MANY = 6_000;
  const long = String.raw`["\\\"pagination\":${'x'.repeat(300_000)}",{"pagination":${other}}]`;

  test.each<[string, string, string | null]>([
    ['beside another one in a row', `{${rows(2)},"pagination":${own}}`, '/2'],
    ['before others in 6,000 rows', `{"pagination":${own},${rows(MANY)}}`, '/2'],
    [
      'after 6,000 rows',
      `{${rows(MANY)} , "pagination" : ${own} , "meta":{"pagination":${other}}} `,
      '/2',
    ],
    ['between long members', `{"a":${long},"pagination":${own},"b":${long},${rows(1)}}`, '/2'],
    [
      'of other members alone',
      `{"meta":[{"pagination":${other}}],${rows(MANY)},"sort":"pagination"}`,
      null,
    ],
  ])('is followed by its own pagination, %s', async (_, body, next) => {
    await serve((__, count) => (count === 1 ? { ...json({}), body } : page(2, null)));
    const { pages, unfollowed } = await save();
    expect([pages[0]?.plainBytes, unfollowed]).toEqual([body.length, null]);
    expect(targets().slice(1)).toEqual(next === null ? [] : [`${next}?format_dates=false`]);
  });
});
