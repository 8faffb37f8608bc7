import { describe, expect, test } from 'vitest';
import { Failure } from '../../src/errors.ts';
import { type ListPage, pages, type ListPaging } from '../../src/service/paging.ts';

const origin = 'https://campaign.example.com';
const first = '/list';

async function crawl(answers: Readonly<Record<string, ListPage<number>>>, maxPages?: number) {
  const asked: string[] = [];
  const items: number[][] = [];
  const ask = async (target: string): Promise<ListPage<number>> => {
    asked.push(target);
    return answers[target] ?? { items: [], paging: null };
  };
  for await (const page of pages({ origin, first, ask, ...(maxPages === undefined ? {} : { maxPages }) }))
    items.push([...page]);
  return { asked, items };
}

describe('pages', () => {
  test.each<[string, ListPaging]>([
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
    const ask = async (): Promise<ListPage<number>> => {
      count += 1;
      return { items: [count], paging: { next: `/list?cursor=${count}` } };
    };
    const run = async (): Promise<void> => {
      for await (const page of pages({ origin, first, ask, maxPages: 5 })) expect(page).toHaveLength(1);
    };
    await expect(run()).rejects.toBeInstanceOf(Failure);
    expect(count).toBe(5);
  });

  test('end in peace with exactly 5 pages where 5 are allowed', async () => {
    const answers = Object.fromEntries(
      [0, 1, 2, 3, 4].map((page): [string, ListPage<number>] => [
        page === 0 ? '/list' : `/list?cursor=${page}`,
        { items: [page], paging: { next: page === 4 ? null : `/list?cursor=${page + 1}` } },
      ]),
    );
    expect((await crawl(answers, 5)).items).toHaveLength(5);
  });
});
