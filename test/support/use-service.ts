/** What a test of the wire needs, for as long as the test that runs goes on: what was opened last is closed first. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { onTestFinished } from 'vitest';

import type { HttpService } from '../../src/config/config.ts';
import {
  type Connection,
  connectTo,
  type Script,
  type ScriptedServer,
  startScriptedServer,
} from './scripted-server.ts';

/** An empty directory, gone with the test. */
export async function useDirectory(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'ripen-test-'));
  onTestFinished(async () => rm(directory, { recursive: true }));
  return directory;
}

/** What a connection has otherwise than by default; it may depend on the server's origin. */
export type Overrides = Partial<HttpService> | ((origin: string) => Partial<HttpService>);

/** A server that answers by the script and a service connected to it, both closed with the test. */
export async function useService(
  script: Script,
  overrides: Overrides = {},
  tls: Parameters<typeof startScriptedServer>[1] = null,
): Promise<{ readonly server: ScriptedServer; readonly connection: Connection }> {
  const server = await startScriptedServer(script, tls);
  const connection = connectTo(server.origin, typeof overrides === 'function' ? overrides(server.origin) : overrides);
  return { server, connection };
}
