/** How the world says no: the statuses and bodies of the service. */

/** A query the service refuses; the server sends `status` and `body` as they are. */
export class RequestRefused extends Error {
  override readonly name = 'RequestRefused';
  readonly status = 400;
  readonly body: Readonly<Record<string, unknown>>;

  constructor(body: Readonly<Record<string, unknown>>) {
    super(`The simulated service refused a request: ${JSON.stringify(body)}`);
    this.body = body;
  }
}

/** The refusal of a name the service does not know; `loc` is the parameter that held it. */
export function unsupported(kind: 'metric' | 'dimension', name: string, loc: string): RequestRefused {
  const text = `Unsupported ${kind}: ${name} loc=${loc}`;
  return new RequestRefused({ error_code: 'request_error', error_desc: text, error_desc_details: null });
}

/** The refusal of a parameter's value. */
export function invalid(parameter: string, msg: string): RequestRefused {
  return new RequestRefused({ detail: [{ loc: ['query', parameter], msg, type: 'value_error' }] });
}

/** The refusal of a query without its required parameters. */
export function missing(parameters: readonly string[]): RequestRefused {
  const type = 'value_error.missing';
  return new RequestRefused({
    detail: parameters.map((parameter) => ({ loc: ['query', parameter], msg: 'field required', type })),
  });
}
