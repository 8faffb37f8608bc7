import * as fc from 'fast-check';
import { expect, test } from 'vitest';

import { property } from '../support/property.ts';
import {
  openLinksScene,
  storedTree,
  trueTree,
  type LinksScene,
  type StoredLink,
} from '../support/links-scene.ts';

interface Change {
  readonly kind: 'rename' | 'archive' | 'remove' | 'add' | 'partner';
  /** Which link, as a share of those there are. */
  readonly at: number;
  readonly label: string;
}

const change = fc.record({
  kind: fc.constantFrom<Change['kind']>('rename', 'archive', 'remove', 'add', 'partner'),
  at: fc.double({ min: 0, max: 0.999, noNaN: true }),
  label: fc.string({ unit: 'binary', minLength: 1, maxLength: 12 }),
});

function apply(
  { simulator }: LinksScene,
  tree: readonly StoredLink[],
  { kind, at, label }: Change,
): void {
  const { links, world } = simulator;
  const link = tree[Math.floor(at * tree.length)];
  const token = String(link?.['token']);
  if (link === undefined || links.find(token) === null) return;
  if (kind === 'rename') links.rename(token, label);
  if (kind === 'archive') links.archive(token);
  if (kind === 'remove') links.remove(token);
  if (kind === 'partner') links.change(token, { partner_id: world.partners[0]?.id ?? 0 });
  if (kind === 'add' && Number(link['level']) < 4)
    links.add(String(link['app_token']), token, { name: label });
}

test(
  'after any changes over 3 nights the history holds, for each night, the tree of that night',
  property(
    [fc.array(fc.array(change, { maxLength: 6 }), { minLength: 2, maxLength: 2 })],
    { numRuns: 4, seed: 20_260_601 },
    async (nights) => {
      const scene = await openLinksScene({ world: { apps: 2, links: 30 } });
      try {
        const trees = [trueTree(scene)];
        await scene.crawl('2026-06-01T00:00:00Z');
        for (const [index, changes] of nights.entries()) {
          for (const each of changes) apply(scene, trees.at(-1) ?? [], each);
          trees.push(trueTree(scene));
          await scene.crawl(`2026-06-0${index + 2}T00:00:00Z`);
        }
        expect(await storedTree(scene)).toEqual(trees.at(-1));
        for (const [index, tree] of trees.entries()) {
          const at = `timestamp '2026-06-0${index + 1} 12:00:00'`;
          const then = await scene.rows(
            `select * exclude (valid_from, valid_to) from main.links_history
             where valid_from <= ${at} and (valid_to is null or valid_to > ${at}) order by token`,
          );
          expect(then).toEqual(tree);
        }
      } finally {
        await scene.close();
      }
    },
  ),
);
