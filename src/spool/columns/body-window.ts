/**
 * The part of a body that is still unread, in one piece.
 *
 * Readers walk over it without asking where it ends: a zero byte stands behind the last one, which JSON has nowhere, so
 * every reader stops there by itself. A stop at that byte means that more is to come; any other is an answer that is not
 * taken.
 */

/** What readers return instead of an offset when they stop. */
export const STOPPED = -1;

const FIRST_CAPACITY = 256 * 1024;
/** Readers look at most this far past the last byte. */
const PADDING = 16;

export class BodyWindow {
  bytes = new Uint8Array(FIRST_CAPACITY + PADDING);
  view = new DataView(this.bytes.buffer);
  /** Where the unread bytes end; a zero byte stands here. */
  end = 0;
  #stoppedAt = 0;
  #because = '';

  /** Drops what stands before `from` and puts a chunk behind the rest, which moves to the front. */
  take(chunk: Uint8Array, from: number): void {
    const rest = this.end - from;
    const needed = rest + chunk.length + PADDING;
    const old = this.bytes;
    if (needed > old.length) {
      this.bytes = new Uint8Array(Math.max(needed, old.length * 2));
      this.view = new DataView(this.bytes.buffer);
      this.bytes.set(old.subarray(from, this.end));
    } else {
      old.copyWithin(0, from, this.end);
    }
    this.bytes.set(chunk, rest);
    this.end = rest + chunk.length;
    this.bytes.fill(0, this.end, this.end + PADDING);
  }

  /** Notes where and why a reader stops. */
  stop(at: number, because: string): typeof STOPPED {
    this.#stoppedAt = at;
    this.#because = because;
    return STOPPED;
  }

  /** Why the last reader stopped; null when only the end of the window stopped it. */
  get because(): string | null {
    return this.#stoppedAt >= this.end ? null : this.#because;
  }
}
