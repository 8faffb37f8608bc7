/** Installs a headless Chromium (82 packages, 117 MB) for `npm run test:browser`. */

import { cachedFolder, installCached } from './cached-packages.ts';

export const browserFolder = cachedFolder('ripen-browser');

export function setup(): void {
  installCached(browserFolder, { '@sparticuz/chromium': '143.0.4', 'puppeteer-core': '24.9.0' });
}
