/** Worlds in which pairs of mechanisms meet: which mechanisms there are, which go together, and how a world is drawn. */

import { wireForms } from './wire-forms.ts';

/** Of one group a world has one mechanism at most. */
export const mechanismGroups = {
  shape: ['cube', 'star', 'undated'],
  batches: ['batches'],
  parts: ['parts'],
  ratios: ['ratios'],
  pages: ['pages by address', 'pages by cursor', 'pages by total_pages', 'pages by total_rows'],
  totals: ['totals first', 'totals last', 'totals every', 'totals of the page'],
  copies: ['copies once', 'copies as often'],
  filter: ['filter'],
  mature: ['mature'],
  moving: ['moving'],
  answer: [
    '204 once',
    '204 for ever',
    'no rows once',
    'no rows for ever',
    'short, totals of all, once',
    'short, totals of all, for ever',
    'short, totals of the rest, once',
    'short, totals of the rest, for ever',
    'short, no totals, once',
    'short, no totals, for ever',
  ],
  limit: ['cap', 'heavy'],
  wire: Object.keys(wireForms),
  kill: ['kill'],
  replay: ['replay'],
  change: ['metric added', 'meaning changed', 'refresh changed'],
  warn: ['warn'],
  control: ['control'],
} as const satisfies Record<string, readonly string[]>;

/** Where the odd answer is aimed. */
export const aimNames = ['batch', 'in', 'not in', 'whole', 'page', 'undivided'] as const;
export type AimName = (typeof aimNames)[number];

export interface PairWorld {
  readonly seed: number;
  readonly mechanisms: ReadonlySet<string>;
  readonly aim: AimName | null;
}

type Random = () => number;

export const oneOf = <T>(random: Random, choices: readonly T[]): T | undefined =>
  choices[Math.floor(random() * choices.length)];

/** Mechanisms that cannot meet: they are refused, or nobody could tell what is true. */
const apart: readonly (readonly [string, string])[] = [
  // Refused: money beside ratios.
  ['ratios', 'cube'],
  // A page states the totals of what is left.
  ['cap', 'totals of the page'],
  // The only period would never be at rest.
  ['moving', 'undated'],
];

/** Returns the pairs of a world's mechanisms, as text. */
export function pairsOf(mechanisms: Iterable<string>): string[] {
  const sorted = [...mechanisms].sort();
  return sorted.flatMap((one, at) => sorted.slice(at + 1).map((other) => `${one} + ${other}`));
}

/** Aims at which the odd answer shows: other answers, or totals, contradict it. */
export function visibleAims(mechanisms: ReadonlySet<string>): AimName[] {
  const has = (name: string): boolean => mechanisms.has(name);
  const odd = mechanismGroups.answer.find(has);
  if (odd === undefined) return [];
  const isEmpty = /^(?:204|no rows)/.test(odd);
  const isForEver = odd.endsWith('for ever');
  const hasPages = mechanismGroups.pages.some(has);
  const aims: AimName[] = [];
  if (has('batches')) aims.push('batch');
  // Without a whole only an empty part is suspicious.
  if (has('parts') && (isEmpty || odd.includes('of all') || !has('filter')))
    aims.push('in', 'not in');
  if (has('parts') && !has('filter') && isEmpty) aims.push('whole');
  const isOnEveryPage = has('totals first') || has('totals every');
  const isPageSeen =
    odd.includes('of all') ||
    // The totals of a day that moves differ from page to page, so that none of them is of the answer.
    (isOnEveryPage &&
      !odd.includes('of the rest') &&
      !(has('moving') && odd.includes('no totals'))) ||
    (has('totals last') && isEmpty && !isForEver);
  if (hasPages && isPageSeen) aims.push('page');
  if (!has('parts') && (odd.includes('of all') || (isEmpty && !isForEver))) aims.push('undivided');
  return aims;
}

/** Draws worlds of some mechanisms each, each the best of some for the pairs that were not met yet. */
export function drawWorld(random: Random, seed: number, met: ReadonlySet<string>): PairWorld {
  const candidates = Array.from({ length: 300 }, () => drawOne(random, seed));
  const newPairs = ({ mechanisms }: PairWorld): number =>
    pairsOf(mechanisms).filter((pair) => !met.has(pair)).length;
  return candidates.reduce((best, each) => (newPairs(each) > newPairs(best) ? each : best));
}

export function drawOne(random: Random, seed: number): PairWorld {
  const mechanisms = new Set<string>();
  const density = 0.4 + random() / 2;
  for (const group of Object.values(mechanismGroups)) {
    const name = random() < density ? oneOf<string>(random, group) : undefined;
    if (name !== undefined) mechanisms.add(name);
  }
  return completed(mechanisms, random, seed);
}

/** Returns a world of mechanisms without those that do not go with the others. */
export function completed(
  mechanisms: Set<string>,
  random: Random,
  seed: number,
  aim: AimName | null = null,
): PairWorld {
  const hasPages = mechanismGroups.pages.some((name) => mechanisms.has(name));
  const hasTotals = mechanismGroups.totals.some((name) => mechanisms.has(name));
  if (hasPages && !hasTotals) mechanisms.add(oneOf<string>(random, mechanismGroups.totals) ?? '');
  if (!hasPages) for (const name of mechanismGroups.totals) mechanisms.delete(name);
  for (const [one, other] of apart) if (mechanisms.has(other)) mechanisms.delete(one);
  const aims = visibleAims(mechanisms);
  if (aims.length === 0) for (const name of mechanismGroups.answer) mechanisms.delete(name);
  const drawn = oneOf(random, aims) ?? null;
  return { seed, mechanisms, aim: aim !== null && aims.includes(aim) ? aim : drawn };
}

/** A world in one line: what repeats it. */
export const textOf = ({ seed, mechanisms, aim }: PairWorld): string =>
  `seed ${seed}: ${[...mechanisms].join('; ')}${aim === null ? '' : ` at ${aim}`}`;
