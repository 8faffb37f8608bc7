/** The tables of the dashboard and its one choice, as plain HTML. */

import { amountText, percentText, ratioText, wordText } from './format.js';

/** Spend, installs and returns of each network and partner. */
export function networksTable(networks) {
  return table(
    [
      'network',
      'partner',
      'spend',
      'installs',
      'cost per install',
      'return, 7 days',
      'return, 30 days',
    ],
    networks.map((of) => [
      wordText(of.network),
      wordText(of.partner),
      amountText(of.spend),
      amountText(of.installs),
      ratioText(of.cost_per_install),
      ratioText(of.return_d7),
      ratioText(of.return_d30),
    ]),
    2,
  );
}

/** Up to which day each metric is final, and how much of it is. */
export function finalityTable(metrics) {
  return table(
    ['metric', 'final until', 'values', 'final'],
    metrics.map((of) => [
      of.metric,
      wordText(of.final_until),
      amountText(of.cells),
      percentText(of.final_cells, of.cells),
    ]),
    2,
  );
}

/** One of the names, as `{ name }`, or null for all of them; `view` takes its value. A name may be empty, and missing. */
export function choice(label, all, names) {
  const options = names.map((name, index) => new Option(wordText(name), String(index)));
  const select = Object.assign(element('select', [new Option(all, ''), ...options]), {
    ariaLabel: label,
  });
  const field = element('label', [`${label} `, select]);
  Object.defineProperty(field, 'value', {
    get: () => (select.value === '' ? null : { name: names[Number(select.value)] }),
  });
  return field;
}

/** A table whose first columns are words and whose others are numbers; it scrolls by itself where there is little room. */
function table(headings, rows, words) {
  const row = (tag, texts) =>
    element(
      'tr',
      texts.map((text, index) =>
        Object.assign(element(tag, [text]), { className: index < words ? '' : 'number' }),
      ),
    );
  const head = element('thead', [row('th', headings)]);
  const body = element(
    'tbody',
    rows.map((texts) => row('td', texts)),
  );
  return Object.assign(element('div', [element('table', [head, body])]), { className: 'scroll' });
}

function element(tag, children) {
  const made = document.createElement(tag);
  made.append(...children);
  return made;
}
