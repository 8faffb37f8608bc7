/** Lint rules of our own, for what oxlint's have no word for. */

const runsLater = /^(?:Arrow)?Function/;

/** Whether an assignment to `target` reads it before one of its own waits: text is enough to tell. */
function isReadBefore(target, text) {
  const pattern = target.replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`);
  return new RegExp(`(?<![\\w$]|(?<!\\.\\.)\\.)${pattern}(?![\\w$])`).test(text);
}

/**
 * Refuses `x += await y` and `x = x + await y`: x is read before the wait and written after it, so that whatever others
 * added meanwhile is lost. `x = await f(x)` hands x on, and is left to the reader.
 */
const noUpdateAcrossAwait = {
  create: (context) => ({
    AwaitExpression(wait) {
      let inner = wait;
      for (
        let outer = wait.parent;
        outer !== null && !runsLater.test(outer.type);
        outer = outer.parent
      ) {
        if (outer.type === 'AssignmentExpression' && outer.right === inner) {
          const { text } = context.sourceCode;
          const target = text.slice(...outer.left.range);
          if (
            outer.operator !== '=' ||
            isReadBefore(target, text.slice(outer.right.range[0], wait.range[0]))
          ) {
            const message = `${target} is read before the await and written after it: await first, then update it.`;
            context.report({ node: outer, message });
          }
        }
        inner = outer;
      }
    },
  }),
};

/** Requires `MAX_` or `MIN_` for limits: one word for one thing. */
const limitNames = {
  create: (context) => ({
    VariableDeclarator({ id }) {
      if (
        id.type === 'Identifier' &&
        /^(?:MOST|LEAST|FEWEST|LONGEST|SHORTEST|LARGEST|SMALLEST)_/.test(id.name)
      )
        context.report({ node: id, message: `Name the limit ${id.name} MAX_… or MIN_….` });
    },
  }),
};

/** The form oxlint loads a plugin in. */
export default {
  meta: { name: 'ripen' },
  rules: { 'no-update-across-await': noUpdateAcrossAwait, 'limit-names': limitNames },
};
