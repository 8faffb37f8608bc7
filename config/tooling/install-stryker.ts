/** Installs Stryker (167 packages, 65 MB) for `npm run test:mutation`. */

import { cachedFolder, installCached } from './cached-packages.ts';

const VERSION = '9.6.1';

export const strykerFolder = cachedFolder('ripen-mutation');

export function setup(): void {
  // A second Vitest, installed as a peer, would not be the one that the tests are written for.
  installCached(strykerFolder, { '@stryker-mutator/vitest-runner': VERSION, '@stryker-mutator/core': VERSION }, [
    '--legacy-peer-deps',
  ]);
}
