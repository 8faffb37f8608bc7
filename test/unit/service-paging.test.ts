import { describe, expect, test } from 'vitest';
import { MAX_PAGES, type ListPage, pages } from '../../src/service/paging.ts';

const origin = 'https://campaign.example.com';
const first = '/list';

async function crawl(answer: (target: string) => ListPage<number>) {
  const asked: string[] = [];
  const items: number[][] = [];
  const ask = async (target: string): Promise<ListPage<number>> => {
    asked.push(target);
    return answer(target);
  };
  for await (const page of pages({ origin, first, ask })) items.push([...page]);
  return { asked, items };
}

const listed = (answers: Readonly<Record<string, ListPage<number>>>) =>
  crawl((target) => answers[target] ?? { items: [], paging: null });

describe('pages', () => {
  test('go on after a short page and after an empty one, which is not handed on', async () => {
    const { asked, items } = await listed({
      '/list': { items: [1, 2], paging: { next: `${origin}/list?cursor=a` } },
      '/list?cursor=a': { items: [], paging: { next: `${origin}/list?after=b` } },
      '/list?after=b': { items: [3], paging: { next: null, cursors: { after: 'abc' } } },
    });
    expect(asked).toEqual(['/list', '/list?cursor=a', '/list?after=b']);
    expect(items).toEqual([[1, 2], [3]]);
  });

  test('stop at a link that leads back two pages', async () => {
    const crawling = listed({
      '/list': { items: [1], paging: { next: '/list?cursor=a' } },
      '/list?cursor=a': { items: [2], paging: { next: '/list?cursor=b' } },
      '/list?cursor=b': { items: [3], paging: { next: '/list?cursor=a' } },
    });
    await expect(crawling).rejects.toThrow('repeated after 3 pages');
  });

  test('end in peace with 10,000 pages, and stop before one more', async () => {
    let count = 0;
    const upTo = (last: number) => () => {
      count += 1;
      return { items: [count], paging: { next: count === last ? null : `?cursor=${count}` } };
    };
    expect((await crawl(upTo(MAX_PAGES))).items).toHaveLength(MAX_PAGES);
    count = 0;
    await expect(crawl(upTo(MAX_PAGES + 1))).rejects.toMatchObject({ code: 'SOURCE_ENDLESS_PAGES' });
    expect(count).toBe(MAX_PAGES);
  });
});
