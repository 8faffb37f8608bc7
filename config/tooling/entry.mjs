#!/usr/bin/env node
// Starts the command with the machine code that an earlier start left; from 22.1 on, Node can keep it.
import { existsSync, mkdirSync, statSync } from 'node:fs';
import module from 'node:module';
import { homedir } from 'node:os';
import { join } from 'node:path';

if (module.enableCompileCache) {
  try {
    const caches = join(homedir(), '.cache');
    const folder = join(caches, 'ripen');
    // Makes no home: not every account has one.
    for (const path of [caches, folder]) if (!existsSync(path)) mkdirSync(path, { mode: 0o700 });
    const { uid, mode } = statSync(folder);
    // Whoever can write there decides what runs here: Node's own default is a folder in /tmp.
    if (uid === process.getuid?.() && (mode & 0o022) === 0) module.enableCompileCache(folder);
  } catch {
    // A start without it takes a little longer.
  }
}

// Imported only now, so that it is found there. Awaited, so that Node reports a command that never ends.
const { ended } = await import('./bundle/cli.js');
await ended;
