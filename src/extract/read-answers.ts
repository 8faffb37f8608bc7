/**
 * Reading: what an answer holds goes into columns, a large one as soon as it has landed, small ones with their batch.
 *
 * What the column reader gives up is left as a document to SQL, where that can bear its size.
 */

import { asFailure, Failure } from '../errors.ts';
import { labelOf, type Window } from '../model/window.ts';
import type { SavedBody } from '../service/service.ts';
import { quoteLongNumbers } from '../spool/long-numbers.ts';
import { plainBytesOf, type Spool, type Spooled, type SpooledAnswer } from '../spool/spool.ts';

export interface Reading {
  readonly spool: Pick<Spool, 'discard'>;
  /** Reads answers of one meaning, with a window of it, into columns together; false where SQL has to read one of them, which takes several times its memory. */
  readonly read: (window: Window, answers: readonly (readonly SavedBody[])[]) => Promise<boolean>;
  /** Whether answers are kept after they are loaded, for SQL to read. */
  readonly isArchived: boolean;
}

interface FailedReading {
  readonly window: Window;
  readonly failure: Failure;
}

/** SQL parses a document as a whole, in five to six times its size. */
const MAX_DOCUMENT_BYTES = 60_000_000;

/**
 * Bytes of an answer that is read only with the others of its batch, as one: a reader and a file of its own take longer to
 * make than it takes to read, and the engine longer to open.
 */
const SMALL_BYTES = 128 * 1024;

const isSmall = (pages: readonly SavedBody[]): boolean => plainBytesOf(pages) <= SMALL_BYTES;

/** The pages of an answer that has landed, read by itself where that is worth while: a small one waits for its batch. */
export async function readLanded(
  window: Window,
  pages: readonly SavedBody[],
  reading: Reading,
): Promise<readonly SavedBody[]> {
  const kept = reading.isArchived ? await quoted(pages) : pages;
  return isSmall(kept) ? kept : readPages(window, kept, reading);
}

/** A batch with its small answers read: together where the column reader takes all of them, else one by one. */
export async function readSmall(
  batch: readonly Spooled[],
  reading: Reading,
): Promise<{ readonly spooled: readonly Spooled[]; readonly failed: readonly FailedReading[] }> {
  const small = new Set(
    batch.flatMap(({ answers }) => answers.filter(({ pages }) => pages.length > 0 && isSmall(pages))),
  );
  // What broke it, one of them will meet again and tell of itself.
  const isRead = small.size > 1 && (await readTogether(batch, small, reading).catch(() => false));
  if (isRead) return { spooled: batch, failed: [] };
  const read = await Promise.all(batch.map(async (each) => readAlone(each, small, reading)));
  return {
    spooled: read.filter((each) => 'answers' in each),
    failed: read.filter((each) => 'failure' in each),
  };
}

/** A window with each of its small answers read by itself, or its failure. */
async function readAlone(
  spooled: Spooled,
  small: ReadonlySet<SpooledAnswer>,
  reading: Reading,
): Promise<Spooled | FailedReading> {
  const { window } = spooled;
  const answers: SpooledAnswer[] = [];
  try {
    for (const answer of spooled.answers) {
      const isUnread = small.has(answer);
      answers.push(isUnread ? { ...answer, pages: await readPages(window, answer.pages, reading) } : answer);
    }
    return { ...spooled, answers };
  } catch (error) {
    // What ended the reading is worth more than a disk that does not let go of the rest.
    await reading.spool.discard(spooled).catch(() => {});
    return { window, failure: asFailure(error) };
  }
}

/** Reads small answers as one; false where they are none. What is seen of the rows of all is true of each, but for weeks. */
async function readTogether(
  batch: readonly Spooled[],
  small: ReadonlySet<SpooledAnswer>,
  { read }: Pick<Reading, 'read'>,
): Promise<boolean> {
  const [first] = batch;
  if (first === undefined || first.window.slice.grain === 'week') return false;
  if (batch.some(({ window }) => window.fingerprint !== first.window.fingerprint)) return false;
  // So that the dates go on from one answer to the next.
  const inOrder = batch.toSorted((a, b) => (a.window.replaced.start < b.window.replaced.start ? -1 : 1));
  const answers = inOrder.flatMap((each) => each.answers.filter((answer) => small.has(answer)));
  return read(
    first.window,
    answers.map(({ pages }) => pages),
  );
}

const quoted = async (pages: readonly SavedBody[]): Promise<readonly SavedBody[]> =>
  Promise.all(pages.map(quoteLongNumbers));

/** The pages as they are to be loaded: in columns, or with numbers that SQL does not round. */
async function readPages(
  window: Window,
  pages: readonly SavedBody[],
  { read, isArchived, spool }: Reading,
): Promise<readonly SavedBody[]> {
  if (await read(window, [pages])) return pages;
  const large = pages.find(({ plainBytes }) => plainBytes > MAX_DOCUMENT_BYTES);
  if (large !== undefined) throw await tooLarge(window, large, { pages }, spool);
  return isArchived ? pages : quoted(pages);
}

/** The failure of an answer that is whole but too large to be parsed in bounded memory: a smaller question is asked. */
async function tooLarge(
  window: Window,
  saved: SavedBody,
  answer: Pick<SpooledAnswer, 'pages'>,
  spool: Reading['spool'],
): Promise<Failure> {
  await spool.discard({ answers: [answer] });
  const megabytes = Math.round(saved.plainBytes / 1_000_000);
  const message = `slice ${window.slice.name}, ${labelOf(window)}: the answer had ${megabytes} MB, more than the ${MAX_DOCUMENT_BYTES / 1_000_000} MB of an unusual one that are parsed at once.`;
  return new Failure('SOURCE_TOO_HEAVY', message, {
    facts: { bytes: saved.plainBytes },
    hint: 'Drop a dimension from the slice, or filter it.',
  });
}
