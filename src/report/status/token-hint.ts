/** What to set after the service refused the token. */

import { readFile } from 'node:fs/promises';

export async function tokenHint(file: string): Promise<string> {
  const lines = (await readFile(file, 'utf8').catch(() => '')).split('\n');
  const at = lines.findIndex((line) =>
    /^\s*["']?token(?:_file)?["']?\s*:|[{,]\s*token(?:_file)?\s*:/.test(line),
  );
  const line = lines[at] ?? '';
  const isFile = /token_file/.test(line);
  const place = `service.token${isFile ? '_file' : ''}${at === -1 ? '' : ` (${file}:${at + 1})`}`;
  const [, variable] = /token(?:_file)?["']?\s*:\s*["']?\$\{(\w+)/.exec(line) ?? [];
  const what = variable === undefined ? place : `the variable ${variable}, which ${place} reads,`;
  return `Set ${what} to ${isFile ? 'a file with a valid token' : 'a valid token'}; a token becomes invalid as soon as it is reset.`;
}
