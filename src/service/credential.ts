/** A credential's standing: once the service has refused it, whatever waits to use it fails at once, without asking. */

import type { Failure } from '../errors.ts';

export class Credential {
  readonly #controller = new AbortController();

  /** Aborts, with the failure as its reason, when the credential is refused. */
  get standing(): AbortSignal {
    return this.#controller.signal;
  }

  /** Takes the service's word that the credential is void; the first such failure is what later calls throw. */
  refuse(failure: Failure): void {
    this.#controller.abort(failure);
  }
}
