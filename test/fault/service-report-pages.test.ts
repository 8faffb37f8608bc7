/** Faults, rows 19 and 19a: what a report says of its next page, and what is asked for then. */

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { Failure } from '../../src/errors.ts';
import { nextPageOf, type ReportPage } from '../../src/service/service.ts';
import {
  type Connection,
  failureFrom,
  json,
  markedToken,
  type Script,
  type ScriptedServer,
  startScriptedServer,
} from '../support/scripted-server.ts';
import { type Overrides, useDirectory, useService } from '../support/use-service.ts';

const address = (text: string): ReportPage => ({ kind: 'address', address: text });
const cursor = (name: 'cursor' | 'after', value: string): ReportPage => ({ kind: 'cursor', name, value });

describe('a pagination', () => {
  test.each<[unknown]>([
    [null],
    [undefined],
    [false],
    [''],
    [[]],
    [{}],
    [{ page: 1, next: null }],
    [{ next: '' }],
    [{ next: ' ' }],
    [{ next: false }],
    [{ cursor: 'x', next: null }],
    [{ cursor: '', next: '' }],
    [{ next: null, cursors: { after: 'x', before: 'y' } }],
    [{ cursors: { after: null, before: 'y' } }],
    [{ page_size: '50', total: '7', cursors: null }],
    [{ page: 1, total_pages: 1 }],
    [{ page: '3', pages: '3', page_size: 8 }],
    [{ total_pages: 0 }],
    [{ page: 0, total_pages: 1 }],
    [{ current_page: 2, last_page: 2, per_page: 8, total: 9 }],
    [{ page: 1, has_more: false }],
    [{ cursor: null, page: 2, total_pages: 2 }],
    [{ next: null, total: 9 }],
    [{ has_next: false, total_pages: 1 }],
  ])('%j names no next page', (pagination) => {
    expect(nextPageOf(pagination)).toBeNull();
  });

  test.each<[unknown, ReportPage]>([
    [{ next: 'https://r.example.com/report?cursor=a' }, address('https://r.example.com/report?cursor=a')],
    [{ next: '//r.example.com/report' }, address('//r.example.com/report')],
    [{ next: '/reports-service/report?after=a', cursor: 'b' }, address('/reports-service/report?after=a')],
    [{ next: '?after=a', cursors: { after: 'b' } }, address('?after=a')],
    [{ next: './2', previous: null }, address('./2')],
    [{ next: 'eyJkIjoxfQ==' }, cursor('cursor', 'eyJkIjoxfQ==')],
    [{ next: 'a/b+c' }, cursor('cursor', 'a/b+c')],
    [{ next: '.eJx' }, cursor('cursor', '.eJx')],
    [{ next: 2 }, cursor('cursor', '2')],
    [{ next: 'b', cursors: { after: 'a' } }, cursor('after', 'a')],
    [{ cursors: { after: 'a' } }, cursor('after', 'a')],
    [{ cursors: { after: 41 }, cursor: 'b' }, cursor('after', '41')],
    [{ cursor: 'b' }, cursor('cursor', 'b')],
    [{ cursor: 'b', next: 'c' }, cursor('cursor', 'c')],
  ])('%j goes on with %j', (pagination, page) => {
    expect(nextPageOf(pagination)).toEqual(page);
  });

  test.each<[unknown]>([
    [true],
    ['more'],
    [7],
    [['/next']],
    [{ next: { href: '/next' } }],
    [{ next: true }],
    [{ next: 2 ** 60 }],
    [{ page: 1, page_size: 8, total_pages: 2, total: 9 }],
    [{ has_more: true, next_page: 2 }],
    [{ total_pages: 2 }],
    [{ page: 0, total_pages: 2 }],
    [{ page: 1, pages: 1, total_pages: 2 }],
    [{ current_page: 1, last_page: 2 }],
    [{ page: 1, page_size: 8, total: 7 }],
    [{ page: 1, total_pages: 1, has_more: true }],
    [{ links: { next: '/2' } }],
    [{ cursor: null, page: 1, total_pages: 2 }],
    [{ cursors: { after: null }, has_more: true }],
    [{ next: null, page: 1, total_pages: 2 }],
    [{ page: 1, total_pages: 1, has_more: 'true' }],
  ])('%j is no pagination that is known, and so no end', (pagination) => {
    expect(() => nextPageOf(pagination)).toThrow(Failure);
    expect(() => nextPageOf(pagination)).toThrow('named no next page and no end that is known');
  });
});

describe('a page of a report', () => {
  let directory: string;
  let server: ScriptedServer;
  let connection: Connection;

  beforeEach(async () => {
    directory = await useDirectory();
  });

  async function serve(script: Script = () => json({ rows: [] }), overrides: Overrides = {}): Promise<void> {
    ({ server, connection } = await useService(script, overrides));
  }

  const ask = async (page?: ReportPage): Promise<string> => {
    const parameters = { metrics: 'installs,clicks', utc_offset: '+00:00' };
    const saved = await connection.service.report(parameters, join(directory, 'report'), connection.signal, page);
    return readFile(saved?.path ?? '', 'utf8');
  };

  const report = '/reports-service/report?metrics=installs,clicks&utc_offset=%2B00:00';

  test('is followed from the first to the third and last, by what each says of the next', async () => {
    const nexts = ['/reports-service/report?page=2', 'c3', null];
    await serve((_, count) => json({ rows: [{ installs: String(count) }], pagination: { next: nexts[count - 1] } }));
    const pages: string[] = [];
    for (let page: ReportPage | null | undefined; page !== null;) {
      const body = await ask(page);
      pages.push(body);
      page = nextPageOf(z.object({ pagination: z.unknown() }).parse(JSON.parse(body)).pagination);
    }
    expect(pages).toHaveLength(3);
    expect(server.received.map(({ target }) => target)).toEqual([
      `${report}&format_dates=false`,
      '/reports-service/report?page=2&format_dates=false',
      `${report}&cursor=c3&format_dates=false`,
    ]);
    expect(new Set(server.received.map(({ headers }) => headers.authorization))).toEqual(
      new Set([`Bearer ${markedToken}`]),
    );
  });

  test.each<[ReportPage, string]>([
    [cursor('after', 'a/b+c=&d'), `${report}&after=a%2Fb%2Bc%3D%26d&format_dates=false`],
    [address('/elsewhere?cursor=a%2Fb'), '/elsewhere?cursor=a%2Fb&format_dates=false'],
    [address('?after=x'), '/reports-service/report?after=x&format_dates=false'],
    [address('/r'), '/r?format_dates=false'],
    [address('/r?format_dates=true&a=%5B1%5D,2&format%5Fdates=1'), '/r?a=%5B1%5D,2&format_dates=false'],
    [address('/r?q=a?b#part'), '/r?q=a?b&format_dates=false'],
  ])('by %j is asked for as %s', async (page, target) => {
    await serve();
    await ask(page);
    expect(server.received.map((request) => request.target)).toEqual([target]);
  });

  test('by an absolute address is asked for at the configured origin, whatever credentials the address names', async () => {
    await serve();
    const { host } = new URL(server.origin);
    await ask(address(`http://user:password@${host}/r?cursor=a`));
    expect(server.received[0]).toMatchObject({ target: '/r?cursor=a&format_dates=false' });
    expect(server.received[0]?.headers.authorization).toBe(`Bearer ${markedToken}`);
  });

  const other = '{"page":1,"total_pages":9,"next":"/elsewhere"}';
  const rows = (count: number): string =>
    `"rows":[${Array(count).fill(`{"installs":"1","attr_dependency":{"pagination":${other}},"a\\"":"{[\\\\"}`).join()}]`;
  const own = '{"next":"c2"}';
  /** Longer than what is kept of either end. */
  const MANY = 6_000;

  const long = String.raw`"debug":["\\\"pagination\":${'x'.repeat(400_000)}",{"pagination":${other}}]`;

  test.each<[string, string, unknown]>([
    ['beside another one in a row', `{${rows(2)},"pagination":${own}}`, { next: 'c2' }],
    ['before others in rows', `{"pagination":${own},${rows(2)}}`, { next: 'c2' }],
    ['before others in 6,000 rows', `{"pagination":${own},${rows(MANY)}}`, { next: 'c2' }],
    [
      'after others in 6,000 rows',
      `{${rows(MANY)} , "pagination" : ${own} , "debug":{"pagination":${other}}} `,
      { next: 'c2' },
    ],
    ['that is null, after one that is not', `{"pagination":${own},${rows(MANY)},"pagination":null}`, null],
    [
      'of nothing but other members, few rows',
      `{${rows(2)},"debug":{"pagination":${other}},"sort":"pagination"}`,
      null,
    ],
    [
      'of nothing but other members, many rows',
      `{"meta":[{"pagination":${other}}],${rows(MANY)},"debug":{"pagination":${other}}}`,
      null,
    ],
    ['between long members, where only a reader of the whole finds it', `{${long},"pagination":${own},${long}}`, null],
    ['of the rows alone, between long members', `{${long},${rows(500)},${long}}`, null],
  ])('says what its own member says, %s', async (_, text, pagination) => {
    await serve(() => ({ ...json({}), body: text }));
    const saved = await connection.service.report(
      { metrics: 'installs' },
      join(directory, 'report'),
      connection.signal,
    );
    expect(saved?.plainBytes).toBe(text.length);
    expect(saved?.pagination).toEqual(pagination);
  });

  test('by an address on another origin is not asked for: the token never leaves its own', async () => {
    const elsewhere = await startScriptedServer(() => json({ rows: [] }));
    await serve();
    for (const next of [`${elsewhere.origin}/r?c=1`, elsewhere.origin.replace('http:', ''), 'https://[', 'ftp://a/?']) {
      const failure = await failureFrom(ask(address(next)));
      expect(failure).toMatchObject({ code: 'SOURCE_ENDLESS_PAGES', facts: { origin: server.origin } });
    }
    expect([...server.received, ...elsewhere.received]).toHaveLength(0);
    await elsewhere.close();
  });

  test('below a path of the configured address starts there', async () => {
    await serve(undefined, (origin) => ({ reportsUrl: `${origin}/gateway` }));
    await ask(cursor('cursor', 'c'));
    await ask(address('?cursor=c'));
    expect(server.received.map(({ path }) => path)).toEqual(Array(2).fill('/gateway/reports-service/report'));
  });
});
