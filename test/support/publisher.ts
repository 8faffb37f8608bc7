/** A process of its own that publishes a sample, to be killed or to be watched. */

import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { symlinkSync } from 'node:fs';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

import type { PublishTarget } from '../../src/config/config.ts';
import type { Sample } from './sample-warehouse.ts';

const repository = fileURLToPath(new URL('../..', import.meta.url));

export interface Publisher {
  /** Publishes once and returns what the process printed: what was published and what failed, as JSON. */
  publish(sample: Sample, targets: readonly PublishTarget[]): Promise<string>;
  /** Kills the process, with no chance to tidy up, as soon as the moment has come; false when it had ended before. */
  publishAndKill(
    sample: Sample,
    targets: readonly PublishTarget[],
    moment: () => boolean,
  ): Promise<boolean>;
  /** Removes the program. */
  remove(): Promise<void>;
}

const PROGRAM = (built: string): string => `
  import { openWarehouse } from '${built}/dist/warehouse/opening.js';
  import { publish } from '${built}/dist/publish/publish.js';
  const emit = () => {};
  const warehouse = await openWarehouse(process.argv[1], { mode: 'write', lockWaitMs: 0, emit });
  const config = { publish: JSON.parse(process.argv[2]) };
  const { published, failures } = await publish(config, warehouse, { emit, signal: new AbortController().signal });
  await warehouse.close();
  console.log(JSON.stringify({ published, failures: failures.map(({ code, message, hint }) => ({ code, message, hint })) }));`;

/** Compiles the sources aside, as Node 20 runs no TypeScript and the publisher cannot be this process. */
export async function compilePublisher(): Promise<Publisher> {
  const built = await mkdtemp(join(tmpdir(), 'ripen-built-'));
  symlinkSync(join(repository, 'sql'), join(built, 'sql'));
  symlinkSync(join(repository, 'node_modules'), join(built, 'node_modules'));
  await cp(join(repository, 'package.json'), join(built, 'package.json'));
  const compiler = join(repository, 'node_modules/typescript/bin/tsc');
  const project = join(repository, 'config/tooling/tsconfig.build.json');
  execFileSync(process.execPath, [
    compiler,
    '-p',
    project,
    '--noCheck',
    '--emitDeclarationOnly',
    'false',
    '--outDir',
    join(built, 'dist'),
  ]);

  const start = (warehouse: string, targets: readonly PublishTarget[]) => {
    const given = ['--', warehouse, JSON.stringify(targets)];
    return spawn(process.execPath, ['--input-type=module', '-e', PROGRAM(built), ...given], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: 'true' },
    });
  };
  return {
    async publish(sample, targets) {
      let printed = '';
      await sample.lend(async () => {
        printed = await text(start(sample.path('warehouse.duckdb'), targets).stdout);
      });
      return printed;
    },
    async publishAndKill(sample, targets, moment) {
      let wasKilled = false;
      await sample.lend(async () => {
        const child = start(sample.path('warehouse.duckdb'), targets);
        const gone = once(child, 'exit');
        while (child.exitCode === null && !moment()) await sleep(1);
        child.kill('SIGKILL');
        await gone;
        wasKilled = child.signalCode === 'SIGKILL';
      });
      return wasKilled;
    },
    remove: async () => rm(built, { recursive: true, force: true }),
  };
}
