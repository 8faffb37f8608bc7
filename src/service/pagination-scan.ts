/**
 * What a document says of further pages, found while it flows by: its own `pagination`, as others may lie in its rows or in
 * what it says for those who look for errors. It is looked for near both ends, so that memory does not grow with the rows; where
 * only bytes between them hold the name, the document is to be read once more, byte by byte, which is slower.
 */

/** Room for the totals and warnings of hundreds of metrics beside it. */
const END_BYTES = 256 * 1024;

const NAME = Buffer.from('"pagination"');
/** Few other bytes of a report begin like it, so that it is looked for in a tenth of the time. */
const RARE_PART = Buffer.from('ginatio');

/** Keeps both ends of a document that flows by. */
export class PaginationScan {
  readonly #head: Buffer[] = [];
  #headBytes = 0;
  /** A ring, made when the document has become longer than its head. */
  #tail: Buffer | null = null;
  #seen = 0;
  #isNamed = false;
  /** The last bytes, which the name may begin in. */
  #rest: Buffer = Buffer.alloc(0);

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
    if (!this.#isNamed) this.#look(chunk);
  }

  #look(chunk: Buffer): void {
    const seam = Buffer.concat([this.#rest, chunk.subarray(0, NAME.length - 1)]);
    this.#isNamed = seam.includes(NAME) || (chunk.includes(RARE_PART) && chunk.includes(NAME));
    const end = chunk.length < NAME.length ? Buffer.concat([this.#rest, chunk]) : chunk;
    this.#rest = Buffer.from(end.subarray(Math.max(0, end.length - NAME.length + 1)));
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

  /** What the document says of its pages, parsed; null when it says nothing, undefined when it may say so between its ends. */
  get found(): unknown {
    if (!this.#isNamed) return null;
    const head = Buffer.concat(this.#head).toString('utf8');
    // Of a document that is all here, what it says beside its rows mostly stands at its end.
    if (this.#tail === null) return fromEnd(head) ?? null;
    const at = this.#seen % END_BYTES;
    const tail = Buffer.concat([this.#tail.subarray(at), this.#tail.subarray(0, at)]).toString('utf8');
    const last = fromEnd(tail);
    return last === undefined ? fromStart(head) : last;
  }
}

const [QUOTE, COMMA, BACKSLASH] = [0x22, 0x2c, 0x5c] as const;
const isOpening = (byte: number): boolean => byte === 0x7b || byte === 0x5b;
const isClosing = (byte: number): boolean => byte === 0x7d || byte === 0x5d;

/** What a whole document says of its pages, wherever it says so, parsed; null when it says nothing. */
export async function paginationIn(document: AsyncIterable<Buffer>): Promise<unknown> {
  let found: unknown = null;
  let member: Buffer[] = [];
  let [depth, bytes, isText, isEscaped] = [0, 0, false, false];
  for await (const chunk of document) {
    let from = 0;
    const keep = (to: number): void => {
      // A longer member is another one.
      if (bytes <= END_BYTES) member.push(Buffer.from(chunk.subarray(from, to)));
      bytes += to - from;
    };
    for (let at = 0; at < chunk.length; at += 1) {
      const byte = chunk[at] ?? 0;
      if (isEscaped) isEscaped = false;
      else if (byte === BACKSLASH) isEscaped = true;
      else if (byte === QUOTE) isText = !isText;
      if (isText) continue;
      if (isClosing(byte)) depth -= 1;
      if (depth === 0 || (depth === 1 && byte === COMMA)) {
        keep(at);
        const text = bytes > END_BYTES ? '' : Buffer.concat(member).toString('utf8').trim();
        const stated = memberAt(text, 0);
        if (stated !== undefined) found = stated;
        [member, bytes, from] = [[], 0, at + 1];
      }
      if (isOpening(byte)) depth += 1;
    }
    keep(chunk.length);
  }
  return found;
}

/** The member of a document itself, of which this is the beginning; undefined where it has none there. */
function fromStart(text: string): unknown {
  let found: unknown;
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    const character = text.charAt(at);
    if (character === '"') {
      const member = depth === 1 ? memberAt(text, at) : undefined;
      if (member !== undefined) found = member;
      at = textEnd(text, at);
    } else if (character === '{' || character === '[') depth += 1;
    else if (character === '}' || character === ']') depth -= 1;
  }
  return found;
}

/** The same of a document of which this is the end: what is open there is told from behind. */
function fromEnd(text: string): unknown {
  let depth = 0;
  for (let at = text.length - 1; at >= 0; at -= 1) {
    const character = text.charAt(at);
    if (character === '"') {
      at = textStart(text, at);
      const found = depth === 1 ? memberAt(text, at) : undefined;
      if (found !== undefined) return found;
    } else if (character === '}' || character === ']') depth += 1;
    else if (character === '{' || character === '[') depth -= 1;
  }
  return undefined;
}

const MEMBER = /"pagination"[ \t\r\n]*:[ \t\r\n]*/y;

/** The value of the member whose name begins at a position; undefined of any other, and of one that is cut. */
function memberAt(text: string, at: number): unknown {
  MEMBER.lastIndex = at;
  if (!MEMBER.test(text)) return undefined;
  const start = MEMBER.lastIndex;
  try {
    return JSON.parse(text.slice(start, valueEnd(text, start)));
  } catch {
    return undefined;
  }
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

/** The position of the quote that begins the text which ends at a position; -1 where its beginning is cut off. */
function textStart(text: string, end: number): number {
  let at = end;
  for (;;) {
    at = at === 0 ? -1 : text.lastIndexOf('"', at - 1);
    let slashes = 0;
    while (text.charAt(at - slashes - 1) === '\\') slashes += 1;
    if (at === -1 || slashes % 2 === 0) return at;
  }
}
