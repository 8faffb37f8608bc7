/** Hours, and integer mixing, the same on every machine. Nothing in the world is random: every quantity hashes what it belongs to. */

export const HOURS_PER_DAY = 24;
export const MS_PER_HOUR = 3_600_000;

const GOLDEN_RATIO = 0x9e3779b9;
const TWO_TO_32 = 4_294_967_296;

/** `mix(mix(a, b), c)` depends on the order. */
export function mix(left: number, right: number): number {
  let hash = Math.imul(left ^ (right + GOLDEN_RATIO), 0x85ebca6b);
  hash ^= hash >>> 15;
  hash = Math.imul(hash ^ right, 0xc2b2ae35);
  hash ^= hash >>> 13;
  hash = Math.imul(hash, 0x27d4eb2f);
  return hash ^ (hash >>> 16);
}

export const fraction = (hash: number): number => (hash >>> 0) / TWO_TO_32;

export const choose = (hash: number, count: number): number => (hash >>> 0) % count;

export function hashText(text: string): number {
  let hash = text.length;
  for (let index = 0; index < text.length; index += 1) hash = mix(hash, text.charCodeAt(index));
  return hash;
}
