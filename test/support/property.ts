/** Laws: what must hold of whatever is drawn at random. A failure prints the seed and the path to replay it with. */

import * as fc from 'fast-check';

/** The body of a test: something holds, or resolves, for whatever is drawn. */
export function property<Given extends [unknown, ...unknown[]]>(
  drawn: { readonly [At in keyof Given]: fc.Arbitrary<Given[At]> },
  runs: fc.Parameters<Given>,
  holds: (...given: Given) => void | Promise<void>,
): () => Promise<void> {
  return () =>
    fc.assert(
      fc.asyncProperty(...drawn, async (...given: Given) => holds(...given)),
      runs,
    );
}
