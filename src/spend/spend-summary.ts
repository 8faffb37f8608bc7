/** What one `spend send` did, as `--json` prints it; the shape is public interface. */

import { Failure, type FailureCode } from '../errors.ts';

export interface SpendFailure {
  readonly code: FailureCode;
  readonly message: string;
  readonly hint: string | null;
}

export interface SpendSummary {
  readonly lines: number;
  /** Lines that keep every rule; `lines` less `rejected`. */
  readonly valid: number;
  /** Lines that break a rule, and were not sent. */
  readonly rejected: number;
  /** Valid lines that are not accepted already and whose outcome is not left unknown: what is, or would be, sent. */
  readonly to_send: number;
  /** Lines that were sent: accepted, refused, or of unknown outcome in this run. */
  readonly sent: number;
  readonly accepted: number;
  readonly already_accepted: number;
  /** Lines the service rejected. */
  readonly refused: number;
  /** Lines of unknown outcome: of this run, and of earlier ones unless they were sent again. */
  readonly unknown: number;
  /** The file that holds every rejected and refused line with its reasons; null when there was none. */
  readonly rejects_file: string | null;
  readonly failures: readonly SpendFailure[];
}

/** The failures that the counts amount to, after the one that stopped the sending. */
export function failuresOf(
  file: string,
  counts: Omit<SpendSummary, 'failures'>,
  stopped: Failure | null,
): SpendFailure[] {
  const failures = [stopped, rejectedFailure(file, counts), unknownFailure(file, counts)];
  return failures
    .filter((failure) => failure !== null)
    .filter(({ code }, index, all) => all.findIndex((other) => other.code === code) === index)
    .map(({ code, message, hint }) => ({ code, message, hint }));
}

function rejectedFailure(file: string, counts: Omit<SpendSummary, 'failures'>): Failure | null {
  const { lines, rejected, refused, sent, rejects_file: rejectsFile } = counts;
  if (rejected + refused === 0) return null;
  const parts = [
    ...(rejected === 0
      ? []
      : [`${rejected} of ${lines} lines of ${file} broke a rule and ${rejected === 1 ? 'was' : 'were'} not sent`]),
    ...(refused === 0 ? [] : [`the service rejected ${refused} of the ${sent} lines of ${file} that were sent`]),
  ];
  const message = `${capitalized(parts.join('; '))}.`;
  return new Failure('SPEND_REJECTED', message, {
    hint: `Mend the lines in ${rejectsFile ?? 'the rejects file'}, where each stands with its reasons, and send that file.`,
  });
}

const capitalized = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}`;

function unknownFailure(file: string, { unknown }: Omit<SpendSummary, 'failures'>): Failure | null {
  if (unknown === 0) return null;
  const message = `Whether ${unknown} lines of ${file} were accepted is unknown: no answer came that says so.`;
  return new Failure('SPEND_UNKNOWN', message, {
    hint: 'Ask the service operator, or send them again with --resend-unknown if counting one twice is better than not at all.',
  });
}
