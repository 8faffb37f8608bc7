/**
 * Where the world takes its variety from: integer mixing, the same on every machine.
 *
 * Nothing in the world is random. Every quantity is a hash of what it belongs to, so that a report is a pure function
 * of options, query and instant.
 */

const GOLDEN_RATIO = 0x9e3779b9;
const TWO_TO_32 = 4_294_967_296;

/** A well-mixed 32-bit integer of two others; `mix(mix(a, b), c)` depends on the order. */
export function mix(left: number, right: number): number {
  let hash = Math.imul(left ^ (right + GOLDEN_RATIO), 0x85ebca6b);
  hash ^= hash >>> 15;
  hash = Math.imul(hash ^ right, 0xc2b2ae35);
  hash ^= hash >>> 13;
  hash = Math.imul(hash, 0x27d4eb2f);
  return hash ^ (hash >>> 16);
}

/** A 32-bit integer as a fraction in [0, 1). */
export function fraction(hash: number): number {
  return (hash >>> 0) / TWO_TO_32;
}

/** A 32-bit integer as one of `count` indices. */
export function choose(hash: number, count: number): number {
  return (hash >>> 0) % count;
}

/** A 32-bit integer of a text, code unit by code unit: texts that differ only in normalisation differ here too. */
export function hashText(text: string): number {
  let hash = text.length;
  for (let index = 0; index < text.length; index += 1) hash = mix(hash, text.charCodeAt(index));
  return hash;
}
