import { describe, expect, test } from 'vitest';
import {
  linksOf,
  pageOf,
  pageRequestOf,
  pagingV1,
  pagingV2,
  withNextLink,
  type PagingStyle,
} from '../../src/simulator/paging.ts';

const letters = (text: string): { position: number; item: string }[] =>
  Array.from(text).map((item, position) => ({ position, item }));

const style: PagingStyle = { v2: true, v2Next: 'cursor', v2End: 'null', shortPages: false };

function page(list: { position: number; item: string }[], query: string, shortPages = false) {
  const request = pageRequestOf(new URLSearchParams(query));
  if (typeof request === 'string') throw new RangeError(request);
  return pageOf(list, request, shortPages);
}

describe('a page of 7 items', () => {
  const list = letters('abcdefg');

  test('of at most 3 is followed by 3 and 1, each found by the cursor of the one before', () => {
    const first = page(list, 'limit=3');
    const second = page(list, `limit=3&after=${first.after}`);
    const third = page(list, `limit=3&cursor=${second.after}`);
    expect([first, second, third].map(({ items }) => items.join(''))).toEqual(['abc', 'def', 'g']);
    expect([first.before, third.after]).toEqual([null, null]);
    expect(page(list, `limit=3&before=${third.before}`).items.join('')).toBe('def');
  });

  test('between two cursors holds what lies between', () => {
    const first = page(list, 'limit=2');
    const last = page(list, `limit=3&after=${page(list, 'limit=5').after}`);
    expect(page(list, `after=${first.after}&before=${last.before}`).items.join('')).toBe('cde');
  });

  test('short by one is not the last', () => {
    const first = page(list, 'limit=4', true);
    expect(first.items.join('')).toBe('abc');
    expect(page(list, `limit=4&after=${first.after}`, true)).toMatchObject({
      items: ['d', 'e', 'f', 'g'],
      after: null,
    });
  });

  test('neither repeats nor skips when items vanish and appear between two pages', () => {
    const first = page(list, 'limit=3');
    const changed = [...list.filter(({ item }) => !'bc'.includes(item)), { position: 7, item: 'h' }];
    expect(page(changed, `limit=9&after=${first.after}`).items.join('')).toBe('defgh');
  });
});

test.each(['limit=0', 'limit=-1', 'limit=x', 'limit=1.5', 'limit=', 'after=nonsense', 'before=nonsense'])(
  'the query %s makes no sense',
  (query) => {
    expect(typeof pageRequestOf(new URLSearchParams(query))).toBe('string');
  },
);

describe('the paging object', () => {
  const address = 'http://127.0.0.1:1/public/v1/partners';

  test('of v1 has its counts as strings and its cursor in next and in cursors', () => {
    const first = page(letters('abc'), 'limit=2');
    expect(pagingV1(first, linksOf(first, address))).toEqual({
      page_size: '2',
      collection_size: '2',
      total: '3',
      next: `${address}?after=${first.after}&limit=2`,
      previous: null,
      cursors: { after: first.after, before: null },
    });
  });

  test.each([
    ['null', { cursor: null, next: null }],
    ['absent', {}],
    ['empty', { cursor: '', next: '' }],
  ] as const)('of v2 ends with %s', (v2End, expected) => {
    const only = page(letters('a'), '');
    expect(pagingV2(only, linksOf(only, address), { ...style, v2End })).toEqual(expected);
  });

  test('of v2 carries the cursor under the name chosen', () => {
    const first = page(letters('ab'), 'limit=1');
    expect(pagingV2(first, linksOf(first, address), { ...style, v2Next: 'after' })).toEqual({
      cursor: first.after,
      next: `${address}?after=${first.after}&limit=1`,
    });
  });
});

describe('a false next link', () => {
  const address = new URL('http://127.0.0.1:1/public/v1/partners?limit=1');
  const only = page(letters('a'), 'limit=1');
  const last = { data: { paging: pagingV1(only, linksOf(only, address.href)), items: ['a'] } };

  test('leads to the same page on another origin', () => {
    const first = page(letters('ab'), 'limit=1');
    const paging = pagingV1(first, linksOf(first, `${address.origin}${address.pathname}`));
    const changed = withNextLink(
      { data: { paging } },
      { to: 'other_origin', origin: 'https://evil.example.com' },
      address,
      1,
    );
    const next = String(paging['next']).replace('http://127.0.0.1:1', 'https://evil.example.com');
    expect(changed).toEqual({ data: { paging: { ...paging, next } } });
  });

  test('leads back to the start by one cursor, or by ever new ones', () => {
    const follow = (to: 'start' | 'endless', ordinal: number): string =>
      JSON.stringify(withNextLink(last, { to }, address, ordinal));
    expect(follow('start', 1)).toBe(follow('start', 2));
    expect(follow('endless', 1)).not.toBe(follow('endless', 2));
    expect(follow('start', 1)).not.toBe(JSON.stringify(last));
    const after = /"next":"[^"]*after=([^&"]+)/.exec(follow('endless', 5))?.[1];
    expect(page(letters('ab'), `limit=1&after=${after}`).items).toEqual(['a']);
  });

  test('is not put into an answer that is no list', () => {
    const report = { rows: [] };
    expect(withNextLink(report, { to: 'start' }, address, 1)).toBe(report);
  });
});
