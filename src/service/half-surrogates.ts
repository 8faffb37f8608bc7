/**
 * Escapes of half a character in JSON text, `\ud83d` without its `\ude00`: legal JSON, but of no character, and so refused
 * by readers that keep text as UTF-8. Each becomes the escape of U+FFFD, which is what a decoder puts in its place.
 */

/** An escape; its group is half a surrogate pair. Of other code units only the beginning is taken. */
const ESCAPE = /\\(?:u([dD][89a-fA-F][\da-fA-F]{2})|[^u]|u(?![dD][89a-fA-F])(?=..))/gs;
const LOW_HALF = /^d[c-f]/i;
/** Characters of a whole `\u` escape. */
const LENGTH = 6;
const REPLACEMENT = String.raw`\ufffd`;

/** Passes JSON text on without halves, whatever pieces it comes in. One character a byte will do. */
export class HalfSurrogates {
  /** The end of what came, in which an escape or a pair may have begun. */
  #held = '';
  #hasFound = false;

  /** Whether a half occurred so far. */
  get hasFound(): boolean {
    return this.#hasFound;
  }

  /** Whether what came ended in what may be the beginning of a half. */
  get isOpen(): boolean {
    return this.#held !== '';
  }

  /** Takes the next piece; returns what is decided of the text so far. */
  take(piece: string): string {
    const text = this.#held + piece;
    this.#held = '';
    if (!text.includes('\\')) return text;
    const halves: number[] = [];
    let high: number | null = null;
    let end = 0;
    for (const { 0: escape, 1: half, index } of text.matchAll(ESCAPE)) {
      const isLow = half !== undefined && LOW_HALF.test(half);
      const isPair = isLow && high === index - LENGTH;
      if (high !== null && !isPair) halves.push(high);
      if (isLow && !isPair) halves.push(index);
      high = half === undefined || isLow ? null : index;
      end = index + escape.length;
    }
    const last = text.lastIndexOf('\\');
    const decided = last >= end && text.length - last < LENGTH ? last : text.length;
    const isOpen = high !== null && decided === high + LENGTH;
    if (high !== null && !isOpen) halves.push(high);
    return this.#mended(text, halves, high !== null && isOpen ? high : decided);
  }

  /** The rest of the text. */
  end(): string {
    const rest = this.#held;
    return this.#mended(rest, rest.length >= LENGTH ? [0] : [], rest.length);
  }

  #mended(text: string, halves: readonly number[], until: number): string {
    this.#held = text.slice(until);
    this.#hasFound ||= halves.length > 0;
    let mended = '';
    let from = 0;
    for (const at of halves) {
      mended += text.slice(from, at) + REPLACEMENT;
      from = at + LENGTH;
    }
    return mended + text.slice(from, until);
  }
}

/** A whole JSON text without halves. */
export function withoutHalves(text: string): string {
  const halves = new HalfSurrogates();
  return halves.take(text) + halves.end();
}
