/** The ad spend endpoint: its documented rules, and which Cost IDs it accepted how often. */

import { type SimulatedAnswer, bytesAnswer, errorAnswer } from './answer.ts';

/** service-interface: Limits. */
const COST_ID_LENGTH = { min: 12, max: 256 } as const;
const MAX_TAG_LENGTH = 128;

const requiredNames = ['cost_type', 'cost_currency', 'cost_id', 'tag'] as const;
const currencies: ReadonlySet<string> = new Set(Intl.supportedValuesOf('currency'));

export interface SpendSubmission {
  readonly query: URLSearchParams;
  /** The request's content type and body; an empty body leaves the query alone to speak. */
  readonly contentType: string | null;
  readonly body: string;
}

export interface SpendLedger {
  /** How often each Cost ID was accepted. */
  readonly accepted: ReadonlyMap<string, number>;
  submit(submission: SpendSubmission): SimulatedAnswer;
}

export function createSpendLedger(): SpendLedger {
  const accepted = new Map<string, number>();
  return {
    accepted,
    submit({ query, contentType, body }) {
      if (body !== '' && !(contentType ?? '').startsWith('application/x-www-form-urlencoded')) {
        return errorAnswer(400, 'error', 'The body is not form-encoded');
      }
      const fields = new URLSearchParams([...query, ...new URLSearchParams(body)]);
      const problem = problemWith(fields);
      if (problem !== null) return errorAnswer(400, 'error', problem);
      const costId = fields.get('cost_id') ?? '';
      accepted.set(costId, (accepted.get(costId) ?? 0) + 1);
      return bytesAnswer('Success', 'text/plain; charset=utf-8');
    },
  };
}

function problemWith(fields: URLSearchParams): string | null {
  const missing = requiredNames.filter((name) => (fields.get(name) ?? '') === '');
  if (missing.length > 0) return `Missing parameter: ${missing.join(', ')}`;
  const costIdLength = (fields.get('cost_id') ?? '').length;
  if (costIdLength < COST_ID_LENGTH.min || costIdLength > COST_ID_LENGTH.max) {
    return `cost_id has ${costIdLength} characters, not ${COST_ID_LENGTH.min} to ${COST_ID_LENGTH.max}`;
  }
  const tagLength = (fields.get('tag') ?? '').length;
  if (tagLength > MAX_TAG_LENGTH) return `tag has ${tagLength} characters, more than ${MAX_TAG_LENGTH}`;
  if (!currencies.has(fields.get('cost_currency') ?? '')) return 'cost_currency is not an ISO 4217 code';
  const amount = fields.get('cost_amount');
  if (amount !== null && !/^\d+(\.\d+)?$/.test(amount)) return 'cost_amount is not a number';
  return null;
}
