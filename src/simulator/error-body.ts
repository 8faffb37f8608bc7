/** Every form in which the service, or a proxy before it, has been seen to word an error (observed: error bodies). */

import { type Answer, bytesAnswer, documentAnswer } from './answer.ts';

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

const codesByStatus: Readonly<Record<number, string>> = {
  400: 'request_error',
  401: 'auth_error',
  403: 'auth_error',
  422: 'validation_error',
};

const bodies: Readonly<Record<ErrorBodyForm, (status: number, message: string) => Answer>> = {
  error_code: (status, message) =>
    documentAnswer(
      { error_code: codesByStatus[status] ?? 'service_error', error_desc: message, error_desc_details: null },
      status,
    ),
  detail: (status, message) =>
    documentAnswer({ detail: [{ loc: ['query'], msg: message, type: 'value_error' }] }, status),
  error: (status, message) => documentAnswer({ error: message }, status),
  error_message: (status, message) => documentAnswer({ error: { message } }, status),
  message: (status, message) => documentAnswer({ message }, status),
  text: (status, message) => bytesAnswer(message, 'text/plain; charset=utf-8', status),
  html: (status, message) => bytesAnswer(htmlPage(message), 'text/html; charset=utf-8', status),
  empty: (status) => ({ status, headers: {}, body: { kind: 'none' } }),
};

/** An answer with this status whose body says the message in the given form; `empty` says nothing. */
export function errorAnswer(status: number, form: ErrorBodyForm, message: string): Answer {
  return bodies[form](status, message);
}

function htmlPage(message: string): string {
  return `<html>\n<head><title>${message}</title></head>\n<body><center><h1>${message}</h1></center></body>\n</html>\n`;
}
