import { describe, expect, test } from 'vitest';
import { Failure, type FailureCode } from '../../src/errors.ts';
import { type Page, pages, type Paging } from '../../src/service/paging.ts';

const origin = 'https://campaign.example.com';
const first = '/list';

async function crawl(answers: Readonly<Record<string, Page<number>>>, maxPages?: number) {
  const asked: string[] = [];
  const items: number[][] = [];
  const ask = async (target: string): Promise<Page<number>> => {
    asked.push(target);
    return answers[target] ?? { items: [], paging: null };
  };
  const plain = { origin, first, ask, keyOf: String };
  const paged = maxPages === undefined ? plain : { ...plain, maxPages };
  for await (const page of pages(paged)) items.push([...page]);
  return { asked, items };
}

describe('pages', () => {
  test.each<[string, Paging]>([
    ['next is null', { next: null }],
    ['next is empty', { next: '' }],
    ['next is absent', {}],
    ['next is null and a cursor remains', { next: null, cursors: { after: 'abc' } }],
    ['there is no paging', undefined],
    ['paging is null', null],
  ])('end where %s', async (_, paging) => {
    expect(await crawl({ '/list': { items: [1], paging } })).toEqual({ asked: ['/list'], items: [[1]] });
  });

  test('go on after a short page and after an empty one, which is not handed on', async () => {
    const { asked, items } = await crawl({
      '/list': { items: [1, 2], paging: { next: `${origin}/list?cursor=a` } },
      '/list?cursor=a': { items: [], paging: { next: `${origin}/list?after=b` } },
      '/list?after=b': { items: [3], paging: { next: null } },
    });
    expect(asked).toEqual(['/list', '/list?cursor=a', '/list?after=b']);
    expect(items).toEqual([[1, 2], [3]]);
  });

  test('go on by cursors.after where no next link is named', async () => {
    const { asked } = await crawl({ '/list': { items: [1], paging: { cursors: { after: 'g2w+A=' } } } });
    expect(asked).toEqual(['/list', '/list?after=g2w%2BA%3D']);
  });

  test('go on by cursors.after where next is null and fewer came than there are, once each, and not after an empty page', async () => {
    const paging = (after: string | null): Paging => ({ next: null, total: '4', cursors: { after } });
    const whole = await crawl({
      '/list': { items: [1, 2], paging: paging('a') },
      '/list?after=a': { items: [3, 4], paging: paging('b') },
    });
    expect(whole).toEqual({
      asked: ['/list', '/list?after=a'],
      items: [
        [1, 2],
        [3, 4],
      ],
    });
    const short = await crawl({
      '/list': { items: [1, 2], paging: paging('a') },
      '/list?after=a': { items: [], paging: paging('b') },
    });
    expect(short.asked).toEqual(['/list', '/list?after=a']);
    const repeating = await crawl({
      '/list': { items: [1], paging: paging('a') },
      '/list?after=a': { items: [1], paging: paging('a') },
    });
    expect(repeating).toEqual({ asked: ['/list', '/list?after=a'], items: [[1]] });
  });

  describe('a list that says it has ended, with 2 of 4 items and a cursor', () => {
    const paging = { next: null, total: '4', cursors: { after: 'a' } };

    async function ending(second: () => Page<number>) {
      const short: unknown[] = [];
      const ask = async (target: string): Promise<Page<number>> =>
        Promise.resolve(target === first ? { items: [1, 2], paging } : second());
      const onShort = (list: unknown): void => void short.push(list);
      const items: number[][] = [];
      for await (const page of pages({ origin, first, ask, keyOf: String, onShort })) items.push([...page]);
      return { items, short };
    }
    const fails = (code: FailureCode) => (): never => {
      throw new Failure(code, 'no such page');
    };

    test.each([
      ['refused', fails('SOURCE_REFUSED')],
      ['not found', fails('SOURCE_MISSING')],
      ['an error of the service', fails('SOURCE_UNAVAILABLE')],
      ['the same items again', () => ({ items: [2, 1], paging })],
    ])('is that long where what is behind the cursor is %s', async (_, second) => {
      expect(await ending(second)).toEqual({ items: [[1, 2]], short: [{ listed: 2, stated: 4 }] });
    });

    test('and 3 items behind the cursor, 1 of them known, has 4, and is whole', async () => {
      const items = [2, 3, 4];
      expect(await ending(() => ({ items, paging: { ...paging, cursors: null } }))).toEqual({
        items: [[1, 2], items],
        short: [],
      });
    });

    test.each(['CREDENTIALS_REFUSED', 'SOURCE_TIMEOUT', 'DEADLINE_PASSED'] as const)(
      'fails with %s behind the cursor',
      async (code) => {
        await expect(ending(fails(code))).rejects.toMatchObject({ code });
      },
    );
  });

  test('an item that is listed on two pages hides none that is missing', async () => {
    const short: unknown[] = [];
    const answers: Readonly<Record<string, Page<number>>> = {
      '/list': { items: [1, 2], paging: { next: '/list?cursor=a', total: '4' } },
      '/list?cursor=a': { items: [2, 3], paging: { next: null, total: '4' } },
    };
    const ask = async (target: string): Promise<Page<number>> =>
      Promise.resolve(answers[target] ?? { items: [], paging: null });
    const onShort = (list: unknown): void => void short.push(list);
    for await (const page of pages({ origin, first, ask, keyOf: String, onShort })) expect(page).toHaveLength(2);
    expect(short).toEqual([{ listed: 3, stated: 4 }]);
  });

  test('follow a relative link', async () => {
    const { asked } = await crawl({ '/list': { items: [1], paging: { next: '/list?cursor=a' } } });
    expect(asked).toEqual(['/list', '/list?cursor=a']);
  });

  test.each([
    'https://evil.example.com/list?cursor=a',
    'http://campaign.example.com/list?cursor=a',
    'https://campaign.example.com:444/list',
    '//evil.example.com/list',
    'https://campaign.example.com@evil.example.com/list',
    'javascript:alert(1)',
    'https://',
  ])('are not followed to %s', async (next) => {
    const crawling = crawl({ '/list': { items: [1], paging: { next } } });
    await expect(crawling).rejects.toMatchObject({ code: 'SOURCE_ENDLESS_PAGES' });
    await expect(crawling).rejects.toThrow('instead of https://campaign.example.com');
  });

  test('stop at a link that leads back two pages', async () => {
    const crawling = crawl({
      '/list': { items: [1], paging: { next: '/list?cursor=a' } },
      '/list?cursor=a': { items: [2], paging: { next: '/list?cursor=b' } },
      '/list?cursor=b': { items: [3], paging: { next: '/list?cursor=a' } },
    });
    await expect(crawling).rejects.toThrow('repeated after 3 pages');
  });

  test('stop after 5 pages where 5 are allowed and a sixth is named', async () => {
    let count = 0;
    const ask = async (): Promise<Page<number>> => {
      count += 1;
      return { items: [count], paging: { next: `/list?cursor=${count}` } };
    };
    const run = async (): Promise<void> => {
      for await (const page of pages({ origin, first, ask, keyOf: String, maxPages: 5 })) expect(page).toHaveLength(1);
    };
    await expect(run()).rejects.toBeInstanceOf(Failure);
    expect(count).toBe(5);
  });

  test('end in peace with exactly 5 pages where 5 are allowed', async () => {
    const answers = Object.fromEntries(
      [0, 1, 2, 3, 4].map((page): [string, Page<number>] => [
        page === 0 ? '/list' : `/list?cursor=${page}`,
        { items: [page], paging: { next: page === 4 ? null : `/list?cursor=${page + 1}` } },
      ]),
    );
    expect((await crawl(answers, 5)).items).toHaveLength(5);
  });
});
