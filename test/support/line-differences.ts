/** How a text differs from another, line by line: enough to make the one from the other, and no more. */

/** Returns each run of lines that replaces lines of `base`, headed by their numbers, such as `@ 7-9`. */
export function lineDifferences(base: string, text: string): string {
  const [before, after] = [base.split('\n'), text.split('\n')];
  // The longest common part of what follows each pair of lines.
  const common = Array.from({ length: before.length + 1 }, () =>
    Array.from({ length: after.length + 1 }, () => 0),
  );
  const commonAt = (one: number, other: number): number => common[one]?.[other] ?? 0;
  for (let one = before.length - 1; one >= 0; one -= 1)
    for (let other = after.length - 1; other >= 0; other -= 1) {
      const row = common[one];
      if (row === undefined) continue;
      row[other] =
        before[one] === after[other]
          ? commonAt(one + 1, other + 1) + 1
          : Math.max(commonAt(one + 1, other), commonAt(one, other + 1));
    }
  const found: string[] = [];
  for (let [one, other] = [0, 0]; one < before.length || other < after.length;) {
    const [first, lines] = [one, [] as string[]];
    while (
      (one < before.length || other < after.length) &&
      (before[one] !== after[other] || one >= before.length || other >= after.length)
    ) {
      if (other >= after.length || commonAt(one + 1, other) >= commonAt(one, other + 1)) {
        if (one < before.length) one += 1;
        else lines.push(after[other++] ?? '');
      } else lines.push(after[other++] ?? '');
    }
    if (one > first || lines.length > 0)
      found.push(`@ ${first + 1}${one > first ? `-${one}` : ''}`, ...lines);
    one += 1;
    other += 1;
  }
  return `${found.join('\n')}\n`;
}
