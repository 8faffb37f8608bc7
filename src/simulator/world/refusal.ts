/** How the world says no: the statuses and bodies of the service (service-examples: error.400.*). */

/** A query the service refuses; the server sends `status` and `body` as they are. */
export class RequestRefused extends Error {
  override readonly name = 'RequestRefused';
  readonly status: number;
  readonly body: unknown;

  constructor(status: number, body: unknown) {
    super(`The simulated service refused a request with ${status}: ${JSON.stringify(body)}`);
    this.status = status;
    this.body = body;
  }
}

const BAD_REQUEST = 400;

/** The refusal of a name the service does not know; `loc` is the parameter that held it. */
export function unsupported(kind: 'metric' | 'dimension' | 'filter', name: string, loc: string): RequestRefused {
  return new RequestRefused(BAD_REQUEST, {
    error_code: 'request_error',
    error_desc: `Unsupported ${kind}: ${name} loc=${loc}`,
    error_desc_details: null,
  });
}

/** The refusal of a parameter's value. */
export function invalid(parameter: string, msg: string): RequestRefused {
  return new RequestRefused(BAD_REQUEST, { detail: [{ loc: ['query', parameter], msg, type: 'value_error' }] });
}

/** The refusal of a query without its required parameters. */
export function missing(parameters: readonly string[]): RequestRefused {
  return new RequestRefused(BAD_REQUEST, {
    detail: parameters.map((parameter) => ({
      loc: ['query', parameter],
      msg: 'field required',
      type: 'value_error.missing',
    })),
  });
}
