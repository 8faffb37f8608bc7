/**
 * How many changes of the code its fast tests notice: `npm run test:mutation`, with `-- -t planning` for one room. On
 * two cores it takes some twenty minutes; `MUTATION_WORKERS` is how many mutants are tried at once.
 */

import { expect, test } from 'vitest';

import { mutate, type MutatedFile } from './mutants.ts';
import { rooms } from './rooms.ts';

const WORKERS = Number(process.env['MUTATION_WORKERS'] ?? 2);

const cases = rooms.map((room) => [room.name, room.survivors, room] as const);

test.each(cases)('of %s no more than %i mutants survive', async (_, most, room) => {
  const files = await mutate(room, WORKERS);
  process.stdout.write(`\n${files.map(textOf).join('\n')}\n`);
  expect(files.length).toBeGreaterThan(0);
  const survivors = files.flatMap((each) => each.survivors);
  expect(survivors.length, survivors.join('\n')).toBeLessThanOrEqual(most);
});

function textOf({ file, mutants, survivors }: MutatedFile): string {
  const killed = mutants - survivors.length;
  const score = ((100 * killed) / mutants).toFixed(1);
  return [` ${file}: ${killed} of ${mutants} mutants noticed, ${score} %`, ...survivors].join('\n   ');
}
