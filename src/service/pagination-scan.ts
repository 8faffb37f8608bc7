/**
 * What a document says of further pages, found while it flows by: its own `pagination`, as others may lie in its rows. It is
 * read from the end of the document, so that memory does not grow with the rows. If the name stood further ahead, the
 * document has to be read once more, byte by byte, which is slower.
 */

/** Room for the totals and warnings of hundreds of metrics beside it. */
const END_BYTES = 256 * 1024;

const NAME = '"pagination"';
/** Other members of that name at the end; where each row has one, reading the document once more is faster. */
const MOST_TRIED = 20;
/** Few other bytes of a report begin like it, so that it is looked for in a tenth of the time. */
const RARE_PART = Buffer.from('ginatio');

/** Keeps the end of a document that flows by. */
export class PaginationScan {
  readonly #end: Buffer[] = [];
  #endBytes = 0;
  #isWhole = true;
  #isNamed = false;
  /** The last bytes, which the name may begin in. */
  #rest = Buffer.alloc(0);

  /** Takes the next plain bytes. */
  see(chunk: Buffer): void {
    this.#isNamed ||= chunk.includes(RARE_PART) && chunk.includes(NAME);
    const seam = Buffer.concat([this.#rest, chunk.subarray(0, NAME.length - 1)]);
    this.#isNamed ||= seam.includes(NAME);
    this.#rest = Buffer.concat([this.#rest, chunk.subarray(-NAME.length)]).subarray(1 - NAME.length);
    this.#end.push(chunk);
    this.#endBytes += chunk.length;
    for (;;) {
      const first = this.#end[0]?.length ?? 0;
      if (this.#endBytes - first < END_BYTES) return;
      this.#end.shift();
      this.#endBytes -= first;
      this.#isWhole = false;
    }
  }

  /** What the document says of its pages, parsed; null when it says nothing, undefined when it may say so before its end. */
  get found(): unknown {
    if (!this.#isNamed) return null;
    const text = Buffer.concat(this.#end).toString('utf8');
    let at = text.length;
    for (let tried = 0; tried < MOST_TRIED; tried += 1) {
      at = at === 0 ? -1 : text.lastIndexOf(NAME, at - 1);
      if (at === -1) return this.#isWhole ? null : undefined;
      // The rest of an object from a name on is an object, too; from a name inside one of its values on it is not.
      const stated = memberIn(text.slice(at));
      if (stated !== undefined) return stated;
    }
    return undefined;
  }
}

/** The `pagination` of an object without its opening brace; undefined where it has none, and where it is no object. */
function memberIn(members: string): unknown {
  try {
    const document: unknown = JSON.parse(`{${members}`);
    return typeof document === 'object' && document !== null && 'pagination' in document
      ? document.pagination
      : undefined;
  } catch {
    return undefined;
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
        const stated = text.startsWith(NAME) ? memberIn(`${text}}`) : undefined;
        if (stated !== undefined) found = stated;
        [member, bytes, from] = [[], 0, at + 1];
      }
      if (isOpening(byte)) depth += 1;
    }
    keep(chunk.length);
  }
  return found;
}
