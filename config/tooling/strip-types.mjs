// Lets threads that a test starts run the TypeScript of src; Node itself strips types from 22.18 on.
import { readFile } from 'node:fs/promises';
import { register } from 'node:module';
import { fileURLToPath } from 'node:url';
import { isMainThread } from 'node:worker_threads';

const HOOKS = '?hooks';

// In its main threads Vitest reads TypeScript itself.
const isVitest = isMainThread && process.env['VITEST'] !== undefined;
if (!process.features.typescript && !isVitest && !import.meta.url.endsWith(HOOKS))
  register(`${import.meta.url}${HOOKS}`);

/** Node's hook: the source of a `.ts` file without its types. */
export async function load(url, context, nextLoad) {
  if (!url.endsWith('.ts')) return nextLoad(url, context);
  // Loaded late: only who starts such a thread pays for it.
  const { transform } = await import('rolldown/utils');
  const { code, errors } = await transform(
    fileURLToPath(url),
    await readFile(new URL(url), 'utf8'),
    {
      typescript: { onlyRemoveTypeImports: true },
    },
  );
  if (errors.length > 0)
    throw new SyntaxError(`${url} could not be read as TypeScript.`, { cause: errors });
  return { format: 'module', shortCircuit: true, source: code };
}
