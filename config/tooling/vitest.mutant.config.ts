import { defineConfig } from 'vitest/config';

/** The tests of one room against one mutant: the mutation run names them in the environment. */
export default defineConfig({
  plugins: [
    {
      // Stryker asks for threads, in which a test can neither set the time zone of its host nor load DuckDB twice.
      name: 'forks',
      configureVitest({ project }) {
        project.config.pool = 'forks';
      },
    },
  ],
  test: {
    root: new URL('../..', import.meta.url).pathname,
    include: (process.env['MUTATION_TESTS'] ?? '').split(','),
    setupFiles: ['test/mutation/repeatable.ts'],
    testTimeout: 60_000,
    // Of a mutant only the tests that run it are tried. One that leans on another before it would fail by itself, and so
    // seem to notice everything: out of order it fails the first run, without any mutant, which ends the whole.
    sequence: { shuffle: true },
    maxWorkers: 1,
  },
});
