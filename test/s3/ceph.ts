/** A Ceph cluster of one, in memory, with its S3 server on loopback; everything it writes lies in a temporary folder. */

import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { openSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import * as z from 'zod';

export const CREDENTIALS = {
  AWS_ACCESS_KEY_ID: 'ripen',
  AWS_SECRET_ACCESS_KEY: 'of-this-test-alone',
} as const;
const STARTED_WITHIN_MS = 60_000;
/** Room for what the suite stores; it lies in memory. */
const STORE_BYTES = 2 * 1024 ** 3;

export interface Ceph {
  readonly url: string;
  stop(): Promise<void>;
}

/** Starts monitor, storage and S3 server, and makes the user of `CREDENTIALS`. */
export async function startCeph(): Promise<Ceph> {
  const folder = await mkdtemp(join(tmpdir(), 'ripen-ceph-'));
  const [first, second, web] = await Promise.all([freePort(), freePort(), freePort()]);
  const monitor = `[v2:127.0.0.1:${first},v1:127.0.0.1:${second}]`;
  const cluster = randomUUID();
  const disk = randomUUID();
  const at = (name: string): string => join(folder, name);
  const environment = { ...process.env, CEPH_CONF: at('ceph.conf') };
  const run = (command: string, ...words: readonly string[]): void => {
    execFileSync(command, words, {
      cwd: folder,
      env: environment,
      stdio: 'ignore',
      timeout: STARTED_WITHIN_MS,
    });
  };
  const started: ChildProcess[] = [];
  const start = (command: string, ...words: readonly string[]): void => {
    const log = openSync(at(`${command}.out`), 'w');
    started.push(
      spawn(command, [...words, '-f'], {
        cwd: folder,
        env: environment,
        stdio: ['ignore', log, log],
      }),
    );
  };
  await mkdir(at('monitor'));
  await mkdir(at('disk'));
  await writeFile(at('ceph.conf'), configuration({ cluster, monitor, folder, web }));

  const key = (name: string, caps: Readonly<Record<string, string>>): void => {
    const allowed = Object.entries(caps).flatMap(([service, right]) => [
      '--cap',
      service,
      `allow ${right}`,
    ]);
    const created = name === 'mon.' ? ['--create-keyring'] : [];
    run('ceph-authtool', 'keyring', ...created, '--gen-key', '-n', name, ...allowed);
  };
  key('mon.', { mon: '*' });
  key('client.admin', { mon: '*', osd: '*' });
  key('osd.0', { mon: 'profile osd', osd: '*' });
  run('monmaptool', '--create', '--addv', 'a', monitor, '--fsid', cluster, 'monitors');
  run('ceph-mon', '--mkfs', '-i', 'a', '--monmap', 'monitors', '--keyring', 'keyring');
  start('ceph-mon', '-i', 'a');
  run('ceph', 'osd', 'new', disk, '0');
  run('ceph', 'auth', 'import', '-i', 'keyring');
  run('ceph-osd', '-i', '0', '--mkfs', '--osd-uuid', disk);
  start('ceph-osd', '-i', '0');
  const { AWS_ACCESS_KEY_ID: id, AWS_SECRET_ACCESS_KEY: secret } = CREDENTIALS;
  run(
    'radosgw-admin',
    'user',
    'create',
    '--uid=ripen',
    '--display-name=ripen',
    `--access-key=${id}`,
    `--secret-key=${secret}`,
  );
  start('radosgw', '-n', 'client.admin');
  const url = `http://127.0.0.1:${web}`;
  await answering(url);
  return {
    url,
    async stop() {
      for (const child of started.toReversed()) {
        const exited = once(child, 'exit');
        if (child.exitCode === null && child.kill('SIGKILL')) await exited;
      }
      await rm(folder, { recursive: true, force: true });
    },
  };
}

interface Places {
  readonly cluster: string;
  readonly monitor: string;
  readonly folder: string;
  readonly web: number;
}

const configuration = ({ cluster, monitor, folder, web }: Places): string => `[global]
fsid = ${cluster}
mon host = ${monitor}
mon initial members = a
keyring = ${folder}/keyring
mon data = ${folder}/monitor
osd data = ${folder}/disk
run dir = ${folder}
log file = ${folder}/$name.log
admin socket = ${folder}/$name.socket
osd objectstore = memstore
memstore device bytes = ${STORE_BYTES}
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 1
osd pool default pgp num = 1
osd pool default pg autoscale mode = off
osd crush chooseleaf type = 0
mon allow pool size one = true
mon data avail crit = 1
rgw frontends = beast endpoint=127.0.0.1:${web}
`;

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = z.object({ port: z.number() }).parse(server.address());
  server.close();
  await once(server, 'close');
  return port;
}

async function answering(url: string): Promise<void> {
  const until = Date.now() + STARTED_WITHIN_MS;
  for (;;) {
    const response = await fetch(url).catch(() => null);
    if (response?.ok === true) return;
    if (Date.now() > until)
      throw new Error(
        `The S3 server at ${url} did not answer within ${STARTED_WITHIN_MS / 1000} s.`,
      );
    await sleep(100);
  }
}
