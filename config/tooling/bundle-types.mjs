/** Joins the library's types, which the compiler wrote file by file to `dist/types`, in `dist/index.d.ts`. */
import { rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';
import { dts } from 'rolldown-plugin-dts';

const inDist = (path) => fileURLToPath(new URL(`../../dist/${path}`, import.meta.url));

const types = await rolldown({
  input: { index: inDist('types/index.d.ts') },
  plugins: [dts({ dtsInput: true, tsconfig: false, resolver: 'oxc' })],
  external: [/^node:/, /^@duckdb\//, 'zod'],
});
await types.write({ dir: inDist('.'), format: 'esm', entryFileNames: '[name].ts' });
rmSync(inDist('types'), { recursive: true });
