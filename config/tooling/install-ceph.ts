/** Installs Ceph's S3 server (Debian packages, 250 MB) for `npm run test:s3`. */

import { execFileSync, spawnSync } from 'node:child_process';

const packages = ['radosgw', 'ceph-mon', 'ceph-osd', 'ceph-common'];

export function setup(): void {
  if (spawnSync('radosgw', ['--version']).status === 0) return;
  process.stdout.write(`Installing ${packages.join(', ')} with apt-get\n`);
  try {
    execFileSync('apt-get', ['install', '-y', '--no-install-recommends', ...packages], {
      stdio: 'inherit',
    });
  } catch (cause) {
    throw new Error('`npm run test:s3` needs Debian or Ubuntu and the right to install packages.', {
      cause,
    });
  }
}
