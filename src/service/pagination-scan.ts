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
  /** A ring, made when the document has become longer than its head. */
  #tail: Buffer | null = null;
  #seen = 0;

  /** Takes the next plain bytes. */
  see(chunk: Buffer): void {
    if (this.#headBytes < END_BYTES) {
      // Copies: slices would keep the memory of whole chunks.
      const part = Buffer.from(chunk.subarray(0, END_BYTES - this.#headBytes));
      this.#head.push(part);
      this.#headBytes += part.length;
    }
    if (this.#seen + chunk.length > END_BYTES) this.#keepTail(chunk);
    this.#seen += chunk.length;
  }

  #keepTail(chunk: Buffer): void {
    if (this.#tail === null) {
      this.#tail = Buffer.alloc(END_BYTES);
      // What came so far is all in the head.
      Buffer.concat(this.#head).subarray(0, this.#seen).copy(this.#tail);
    }
    const from = Math.max(0, chunk.length - END_BYTES);
    const at = (this.#seen + from) % END_BYTES;
    const copied = chunk.copy(this.#tail, at, from);
    chunk.copy(this.#tail, 0, from + copied);
  }

  /** What the document says of its pages, parsed; null when it says nothing. */
  get found(): unknown {
    const head = Buffer.concat(this.#head);
    if (this.#tail === null) return paginationIn(head) ?? null;
    const at = this.#seen % END_BYTES;
    const tail = Buffer.concat([this.#tail.subarray(at), this.#tail.subarray(0, at)]);
    return paginationIn(tail) ?? paginationIn(head) ?? null;
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
