/** Faults, row 19 and the intruder it guards against: what a paging link may do. */

import { describe, expect, test } from 'vitest';
import {
  type Connection,
  failureFrom,
  json,
  type Script,
  type ScriptedServer,
  startScriptedServer,
} from '../support/scripted-server.ts';
import { useService } from '../support/use-service.ts';

let server: ScriptedServer;
let connection: Connection;

async function serve(script: Script): Promise<void> {
  ({ server, connection } = await useService(script));
}

async function partnerIds(): Promise<string[]> {
  const ids: string[] = [];
  for await (const page of connection.service.partners(connection.signal)) ids.push(...page.map(({ id }) => id));
  return ids;
}

function page(id: number, next: string | null) {
  return json({ data: { items: [{ id, display_name: 'P', supports_cost_data: true }], paging: { next } } });
}

describe('row 19: next', () => {
  test('that points to itself stops after 1 page as SOURCE_ENDLESS_PAGES', async () => {
    await serve((request) => page(1, request.target));
    expect(await failureFrom(partnerIds())).toMatchObject({ code: 'SOURCE_ENDLESS_PAGES', facts: { pages: 1 } });
    expect(server.received).toHaveLength(1);
  });

  test('that points to another origin is not followed: the token never leaves its own', async () => {
    const elsewhere = await startScriptedServer(() => page(2, null));
    await serve(() => page(1, `${elsewhere.origin}/public/v1/partners?after=a`));
    const failure = await failureFrom(partnerIds());
    expect(failure.message).toBe(
      `A page of /public/v1/partners led to ${elsewhere.origin} instead of ${server.origin}`,
    );
    expect(elsewhere.received).toHaveLength(0);
    await elsewhere.close();
  });

  test('one page of 3 that fails for ever fails the list, after the pages before it were handed on', async () => {
    await serve((request) => {
      if (request.query.get('after') === 'b') return { status: 500 };
      return request.query.has('after')
        ? page(2, '/public/v1/partners?after=b')
        : page(1, '/public/v1/partners?after=a');
    });
    const partners = connection.service.partners(connection.signal);
    expect(((await partners.next()).value ?? []).length).toBe(1);
    expect(((await partners.next()).value ?? []).length).toBe(1);
    expect(await failureFrom(partners.next())).toMatchObject({ code: 'SOURCE_UNAVAILABLE', facts: { attempts: 6 } });
  });

  test('a page that is reset once is asked for again, and no item comes twice', async () => {
    await serve((_, count) => {
      if (count === 2) return { ...page(2, null), cutAfter: 10 };
      return count === 1 ? page(1, '/public/v1/partners?after=a') : page(2, null);
    });
    expect(await partnerIds()).toEqual(['1', '2']);
    expect(server.received.map(({ target }) => target)).toEqual([
      '/public/v1/partners',
      '/public/v1/partners?after=a',
      '/public/v1/partners?after=a',
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

  test('a page without items is an error of the answer, not an empty list', async () => {
    await serve(() => json({ data: { paging: { next: null } } }));
    const failure = await failureFrom(partnerIds());
    expect(failure).toMatchObject({ code: 'SOURCE_GARBLED', facts: { attempts: 2 } });
    expect(failure.message).toContain('data.items');
  });

  test('a campaign answer 204 is an error of the answer, not an empty list', async () => {
    await serve(() => ({ status: 204 }));
    expect(await failureFrom(partnerIds())).toMatchObject({ code: 'SOURCE_GARBLED' });
  });
});
