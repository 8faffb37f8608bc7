/** Every form in which the service, or a proxy before it, has been seen to word an error (observed: error bodies). */

import {
  type SimulatedAnswer,
  bareAnswer,
  bytesAnswer,
  documentAnswer,
  errorAnswer as ownAnswer,
} from '../../../src/simulator/answer.ts';

export const errorBodyForms = [
  'error_code',
  'detail',
  'error',
  'error_message',
  'message',
  'text',
  'html',
  'empty',
] as const;

export type ErrorBodyForm = (typeof errorBodyForms)[number];

const bodies: Readonly<Record<ErrorBodyForm, (status: number, message: string) => SimulatedAnswer>> = {
  error_code: (status, message) => ownAnswer(status, 'error_code', message),
  error: (status, message) => ownAnswer(status, 'error', message),
  error_message: (status, message) => ownAnswer(status, 'error_message', message),
  detail: (status, message) =>
    documentAnswer({ detail: [{ loc: ['query'], msg: message, type: 'value_error' }] }, status),
  message: (status, message) => documentAnswer({ message }, status),
  text: (status, message) => bytesAnswer(message, 'text/plain; charset=utf-8', status),
  html: (status, message) => bytesAnswer(htmlPage(message), 'text/html; charset=utf-8', status),
  empty: (status) => bareAnswer(status),
};

/** An answer with this status whose body says the message in the given form; `empty` says nothing. */
export function errorAnswer(status: number, form: ErrorBodyForm, message: string): SimulatedAnswer {
  return bodies[form](status, message);
}

function htmlPage(message: string): string {
  return `<html>\n<head><title>${message}</title></head>\n<body><center><h1>${message}</h1></center></body>\n</html>\n`;
}
