/**
 * The style sheet of the status page. Every mark contrasts with the paper by at least 3 : 1 (WCAG 1.4.11). The colours stay
 * distinct under every colour blindness (after Okabe and Ito's palette): the less there is to rely on, the lighter the blue,
 * then hatched; orange and red need attention.
 */

export const pageStyle = `
:root {
  --paper: #ffffff; --ink: #1c2530; --muted: #5b6672; --line: #dfe4ea; --card: #f6f8fa; --link: #0b5c96;
  --final: #0b5c96; --maturing: #3f93c9; --cut: #8a6fb0; --empty: #6f7a84; --rejected: #b3400a; --gap: #b06f00; --ground: #fff4dc;
  --well: #0b6e4f; --warn: #a35f00; --bad: #b3261e; --well-ground: #e8f5f0; --warn-ground: #fff6e5; --bad-ground: #fdecea;
  --series-1: #0072b2; --series-2: #b87400; --series-3: #00875f; --series-4: #b85c91;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #12171d; --ink: #e6ebf0; --muted: #9aa6b2; --line: #2c353f; --card: #1a2129; --link: #7cc4f5;
    --final: #7cc4f5; --maturing: #3d86bd; --cut: #a58fd0; --empty: #8b959e; --rejected: #ff7a45; --gap: #e6a117; --ground: #33270c;
    --well: #5fd0a5; --warn: #f0b848; --bad: #ff8a80; --well-ground: #12271f; --warn-ground: #2b2210; --bad-ground: #311917;
    --series-1: #56b4e9; --series-2: #e69f00; --series-3: #2fc296; --series-4: #e39ac0;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 15px/1.45 system-ui, sans-serif; }
main { max-width: 1120px; margin: 0 auto; padding: 24px 20px 48px; }
h1 { font-size: 22px; margin: 0; }
h2 { font-size: 18px; margin: 40px 0 8px; padding-top: 16px; border-top: 1px solid var(--line); overflow-wrap: anywhere; }
a { color: var(--link); }
.note, figcaption, caption, summary, small { color: var(--muted); }
.note { margin: 4px 0; overflow-wrap: anywhere; }
figure { margin: 16px 0; min-width: 0; }
figcaption, caption { font-size: 14px; text-align: left; margin-bottom: 6px; }
table { border-collapse: collapse; width: 100%; font-size: 14px; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: 5px 14px 5px 0; vertical-align: top; white-space: nowrap; }
th:last-child, td:last-child { padding-right: 0; }
thead th { color: var(--muted); font-weight: 500; border-bottom: 1px solid var(--line); }
tbody th { font-weight: 500; }
tbody tr + tr > * { border-top: 1px solid var(--line); }
.number { text-align: right; }
.long { min-width: 220px; white-space: normal; overflow-wrap: anywhere; }
.scroll { overflow-x: auto; }
.side-by-side { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 8px 32px; }
.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }

.health { margin: 16px 0 20px; padding: 12px 16px; border-radius: 8px; border-left: 5px solid var(--tone); }
.health p { margin: 0; font-size: 17px; font-weight: 600; }
.health ul { margin: 8px 0 0; padding-left: 22px; }
.health li { margin: 6px 0; }
li, h3 { overflow-wrap: anywhere; }
.well { --tone: var(--well); background: var(--well-ground); }
.watch { --tone: var(--warn); background: var(--warn-ground); }
.failed { --tone: var(--bad); background: var(--bad-ground); }
.sign { display: inline-block; width: 26px; font-weight: 700; color: var(--tone); }
.hint { display: block; color: var(--muted); }
.hint::before { content: "→ "; }

.final { fill: var(--final); } .maturing { fill: var(--maturing); } .open { fill: url(#hatch-open); } .cut { fill: var(--cut); } .empty { fill: var(--empty); }
.moving { fill: url(#hatch-moving); }
.rejected { fill: var(--rejected); } .missing { fill: url(#hatch-missing); } .not-loaded { fill: url(#hatch-not-loaded); }
.series-1 { color: var(--series-1); } .series-2 { color: var(--series-2); } .series-3 { color: var(--series-3); }
.series-4 { color: var(--series-4); } rect { fill: currentcolor; }
.ground { fill: var(--ground); } .stroke { fill: var(--gap); } .paper { fill: var(--paper); }
.legend { display: flex; flex-wrap: wrap; gap: 4px 18px; list-style: none; margin: 0 0 8px; padding: 0; font-size: 14px; }
.legend b { font-weight: 500; color: var(--muted); }
.swatch { width: 14px; height: 14px; margin-right: 6px; vertical-align: -2px; border-radius: 2px; }
.map table { table-layout: fixed; }
.map th:first-child { width: 320px; white-space: normal; overflow-wrap: anywhere; }
.map th.number { width: 72px; }
.map thead th { vertical-align: bottom; }
.map tbody tr > * { border: 0; padding-top: 2px; padding-bottom: 2px; }
.map small { font-size: 12px; margin-left: 6px; white-space: nowrap; }
.strip { display: block; width: 100%; height: 18px; }
.axis svg { display: block; width: 100%; height: 18px; overflow: visible; }
.axis line { stroke: var(--line); } .axis text { font-size: 11px; fill: var(--muted); text-anchor: middle; }
.chart { display: block; width: calc(100% - 60px); height: 180px; margin: 14px 16px 28px 44px; overflow: visible; }
.chart svg { width: 100%; height: 100%; }
.chart line { stroke: var(--line); } .chart text { font-size: 12px; fill: var(--muted); text-anchor: end; }
.chart .below { text-anchor: middle; }
.chart path { fill: none; stroke: currentcolor; stroke-width: 2; vector-effect: non-scaling-stroke; } .chart .dashed { stroke-dasharray: 5 4; }
.side-by-side figure { display: flex; flex-direction: column; margin-bottom: 0; }
.side-by-side .chart { margin-top: auto; }
.side-by-side figure:only-child { grid-column: 1 / -1; }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(200px, 1fr)); gap: 12px; margin: 0 0 20px; }
.figures div { display: flex; flex-direction: column-reverse; justify-content: flex-end; padding: 10px 14px; border-radius: 8px; background: var(--card); }
.figures dd { margin: 0; font-size: 20px; font-weight: 600; font-variant-numeric: tabular-nums; }
.figures dt { font-size: 13px; color: var(--muted); }
.overview { margin-top: 20px; }
.meter { width: 60px; height: 10px; margin-right: 8px; border-radius: 2px; }
h3 { font-size: 15px; margin: 14px 0 0; }
details { margin-top: 12px; }
.many section { content-visibility: auto; contain-intrinsic-size: auto 1000px; }
summary { cursor: pointer; font-size: 14px; }
:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
.map details { margin: 0; } .map summary { color: inherit; } .map th b { font-weight: 500; color: var(--link); }
.map details ul { margin: 2px 0 6px; padding-left: 16px; font-weight: 400; list-style: none; }

@media (max-width: 760px) {
  main { padding: 16px 12px 32px; }
  .side-by-side { grid-template-columns: minmax(0, 1fr); }
  .map thead th:first-child, .map thead th.number { display: none; }
  .map thead, .map tbody { display: block; }
  .map tr { display: grid; grid-template-columns: 1fr auto; }
  .map th.axis, .map td:nth-child(2) { grid-column: 1 / -1; grid-row: 2; padding-right: 0; }
  .map th:first-child { width: auto; padding-bottom: 0; }
  .map table { display: block; }
  .overview :is(th, td):is(:nth-child(3), :nth-child(4), :nth-child(6)), .restated :is(th, td):is(:nth-child(2), :nth-child(3)),
  .runs :is(th, td):is(:nth-child(1), :nth-child(4), :nth-child(5), :nth-child(6)) { display: none; }
  :is(.overview, .restated, .runs) :is(th, td) { min-width: 0; padding-right: 10px; }
  :is(.overview, .restated) th:first-child { white-space: normal; overflow-wrap: anywhere; }
  .meter { display: none; }
  .figures { grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 8px; } .figures div { padding: 8px 10px; } .figures dd { font-size: 17px; }
}
@media print { .scroll { overflow: visible; } details { display: none; } .map details { display: block; } }
`;
