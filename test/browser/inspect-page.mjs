/**
 * What a reader would complain of in a page, as sentences: text that is cut, covered or pale, marks that are pale, a body
 * that scrolls sideways. The value of the last expression, for `page.evaluate`: it reads what the browser has rendered.
 */
(() => {
  const TEXT_CONTRAST = 4.5;
  const MARK_CONTRAST = 3;
  /** Fractions of a pixel, and the room that a font leaves above and below its letters. */
  const SLACK_PX = 2;
  const LINE_SLACK = 0.25;

  const complaints = new Set();
  const said = (node) => (node.textContent ?? '').trim().replaceAll(/\s+/g, ' ').slice(0, 40);

  const canvas = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true });
  const known = new Map();
  /** Red, green and blue to 255 and how much they cover, whatever form the colour is written in. */
  const colourOf = (text) => {
    if (text === 'none') return [0, 0, 0, 0];
    if (!known.has(text)) {
      canvas.clearRect(0, 0, 1, 1);
      canvas.fillStyle = text;
      canvas.fillRect(0, 0, 1, 1);
      const [red, green, blue, alpha] = canvas.getImageData(0, 0, 1, 1).data;
      known.set(text, [red, green, blue, alpha / 255]);
    }
    return known.get(text);
  };
  const over = ([red, green, blue, alpha], under) =>
    [red, green, blue].map((part, index) => part * alpha + under[index] * (1 - alpha));
  const luminance = (colour) => {
    const [red, green, blue] = colour.map((part) =>
      part / 255 <= 0.040_45 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4,
    );
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const contrast = (one, other) => {
    const [light, dark] = [luminance(one), luminance(other)].sort((a, b) => b - a);
    return (light + 0.05) / (dark + 0.05);
  };
  const groundOf = (element) => {
    const layers = [];
    for (let each = element; each !== null; each = each.parentElement) {
      layers.push(colourOf(getComputedStyle(each).backgroundColor));
    }
    const bare = matchMedia('(prefers-color-scheme: dark)').matches
      ? [18, 18, 18]
      : [255, 255, 255];
    return layers.reduceRight((under, layer) => over(layer, under), bare);
  };
  const isVisible = (element) =>
    element.checkVisibility({ opacityProperty: true, visibilityProperty: true }) &&
    element.closest('.unseen, defs, pattern, title, option, script, style') === null;

  if (document.documentElement.scrollWidth > innerWidth) {
    complaints.add(`the body is ${document.documentElement.scrollWidth} px wide in ${innerWidth}`);
  }

  const lines = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode;
    const parent = text.parentElement;
    if (text.data.trim() === '' || parent === null || !isVisible(parent)) continue;
    const inDrawing = parent instanceof SVGElement;
    const style = getComputedStyle(parent);
    const ground = groundOf(parent);
    const ink = contrast(over(colourOf(inDrawing ? style.fill : style.color), ground), ground);
    if (ink < TEXT_CONTRAST)
      complaints.add(`the text "${said(text)}" has a contrast of ${ink.toFixed(2)}`);
    const range = document.createRange();
    range.selectNodeContents(text);
    for (const box of range.getClientRects()) {
      if (box.width < 1 || box.height < 1) continue;
      lines.push({ box, text });
      for (
        let each = parent;
        each !== null && each !== document.documentElement;
        each = each.parentElement
      ) {
        const { overflowX, overflowY } = getComputedStyle(each);
        // What scrolls by itself can be brought into view.
        if (/auto|scroll/.test(overflowX)) break;
        const room = each.getBoundingClientRect();
        const clips =
          /hidden|clip/.test(overflowX + overflowY) && getComputedStyle(each).display !== 'inline';
        const cut = box.left < room.left - SLACK_PX || box.right > room.right + SLACK_PX;
        const cutBelow = box.bottom > room.bottom + SLACK_PX + box.height * LINE_SLACK;
        if (clips && (cut || cutBelow)) complaints.add(`the text "${said(text)}" is cut`);
      }
    }
  }

  lines.sort((one, other) => one.box.top - other.box.top);
  for (const [index, { box, text }] of lines.entries()) {
    for (let next = index + 1; next < lines.length; next += 1) {
      const { box: below, text: neighbour } = lines[next];
      const slack = SLACK_PX + LINE_SLACK * Math.min(box.height, below.height);
      if (below.top > box.bottom - slack) break;
      const wide = Math.min(box.right, below.right) - Math.max(box.left, below.left);
      if (wide > SLACK_PX && text !== neighbour) {
        complaints.add(`the texts "${said(text)}" and "${said(neighbour)}" overlap`);
      }
    }
  }

  /** The colours a mark is painted in, those of a hatching one by one, with how much they cover. */
  const paintsOf = (mark, property) => {
    const style = getComputedStyle(mark);
    const hatching = /url\("?#([^")]+)"?\)/.exec(style[property])?.[1];
    if (hatching !== undefined) {
      const shapes = [...(document.getElementById(hatching)?.children ?? [])];
      return shapes.map((shape) => colourOf(getComputedStyle(shape).fill));
    }
    const [red, green, blue, alpha] = colourOf(style[property]);
    return [
      [red, green, blue, alpha * Number(style[`${property}Opacity`]) * Number(style.opacity)],
    ];
  };
  /** A pale surface is seen by the line of its colour that runs along it. */
  const edgeOf = (mark, ground) => {
    const [[red, green, blue, alpha] = [0, 0, 0, 0]] = paintsOf(mark, 'fill');
    const isEdged = [...(mark.parentElement?.children ?? [])].some((other) => {
      const stroke = colourOf(getComputedStyle(other).stroke);
      return stroke.every((part, index) => part === [red, green, blue, 1][index]);
    });
    return alpha < 1 && isEdged ? contrast([red, green, blue], ground) : 1;
  };
  /** Rules and ticks carry no figure. */
  const rule = document.createElement('i');
  rule.style.color = 'var(--line)';
  document.body.append(rule);
  const ruleColour = getComputedStyle(rule).color;
  rule.remove();
  const isRule = (mark) =>
    getComputedStyle(mark).stroke === ruleColour ||
    mark.closest('[aria-label*="axis"], [aria-label*="grid"]') !== null;
  const marks = document.querySelectorAll('svg :is(rect, path, circle, line, polyline, polygon)');
  let judged = 0;
  for (const mark of marks) {
    const box = mark.getBoundingClientRect();
    if (!isVisible(mark) || box.width + box.height < 1 || isRule(mark)) continue;
    const paints = [...paintsOf(mark, 'fill'), ...paintsOf(mark, 'stroke')].filter(
      ([, , , alpha]) => alpha > 0,
    );
    if (paints.length === 0) continue;
    judged += 1;
    const ground = groundOf(mark);
    const best = Math.max(
      ...paints.map((paint) => contrast(over(paint, ground), ground)),
      edgeOf(mark, ground),
    );
    if (best < MARK_CONTRAST) {
      const name =
        `${mark.tagName} ${mark.getAttribute('class') ?? mark.getAttribute('fill') ?? ''}`.trim();
      complaints.add(
        `a mark, ${name} in ${getComputedStyle(mark).fill}/${getComputedStyle(mark).stroke}, has a contrast of ${best.toFixed(2)}`,
      );
    }
  }
  return { complaints: [...complaints], texts: lines.length, marks: judged };
})();
