/** Groups items by a text, in their order. Pure. */
export function alike<T>(items: readonly T[], textOf: (item: T) => string): [T, ...T[]][] {
  const groups = new Map<string, [T, ...T[]]>();
  for (const item of items) {
    const text = textOf(item);
    const group = groups.get(text);
    if (group === undefined) groups.set(text, [item]);
    else group.push(item);
  }
  return [...groups.values()];
}
