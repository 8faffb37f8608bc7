/**
 * The `pagination` of a report that flows by, found without parsing the report: the member stands before its rows or after
 * them, so the two ends of the document hold it. What is found here is asked for; the loader, which parses all, checks it.
 */

/** Room for the totals and warnings of hundreds of metrics beside it. */
const END_BYTES = 256 * 1024;

/** Inside a text the quote before the name would be escaped. */
const MEMBER = /(?<!\\)"pagination"\s*:\s*/g;

export class PaginationScan {
  readonly #head: Buffer[] = [];
  #headBytes = 0;
  #tail: Buffer[] = [];
  #tailBytes = 0;

  /** Takes the next plain bytes. */
  see(chunk: Buffer): void {
    if (this.#headBytes < END_BYTES) {
      // Copies: slices would keep the memory of whole chunks.
      this.#head.push(Buffer.from(chunk.subarray(0, END_BYTES - this.#headBytes)));
      this.#headBytes += chunk.length;
    }
    this.#tail.push(Buffer.from(chunk.subarray(Math.max(0, chunk.length - END_BYTES))));
    this.#tailBytes += chunk.length;
    while (this.#tail.length > 1 && this.#tailBytes - (this.#tail[0]?.length ?? 0) >= END_BYTES) {
      this.#tailBytes -= this.#tail.shift()?.length ?? 0;
    }
  }

  /** What the document says of its pages, parsed; null when it says nothing. */
  get found(): unknown {
    return paginationIn(Buffer.concat(this.#tail)) ?? paginationIn(Buffer.concat(this.#head)) ?? null;
  }
}

function paginationIn(bytes: Buffer): unknown {
  const text = bytes.toString('utf8');
  let found: unknown;
  for (const { 0: member, index } of text.matchAll(MEMBER)) {
    const value = text.slice(index + member.length, valueEnd(text, index + member.length));
    try {
      found = JSON.parse(value);
    } catch {
      // The member was cut by the end of what is kept, or is none.
    }
  }
  return found;
}

/** The position after the JSON value that begins at a position. */
function valueEnd(text: string, start: number): number {
  let depth = 0;
  for (let at = start; at < text.length; at += 1) {
    const character = text.charAt(at);
    if (character === '"') at = textEnd(text, at);
    else if (character === '{' || character === '[') depth += 1;
    else if (depth === 0 && /[,}\]\s]/.test(character)) return at;
    else if (character === '}' || character === ']') depth -= 1;
    if (depth === 0 && /["}\]]/.test(text.charAt(at))) return at + 1;
  }
  return text.length;
}

/** The position of the quote that ends the text which begins at a position. */
function textEnd(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at += 1) {
    if (text.charAt(at) === '\\') at += 1;
    else if (text.charAt(at) === '"') return at;
  }
  return text.length;
}
