"""The frame of the report: style, script for choosing, sorting and filtering, places for the content."""

from string import Template

PAGE = Template("""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><link rel="icon" href="data:,">
<title>$title</title>
<style>
:root { --ink: #1c2733; --soft: #5b6b7b; --line: #d8dee5; --accent: #0b66a8; --paper: #ffffff; --panel: #f3f7fb;
  --good: #cfe8d3; --bad: #f6cfcb; --speed: #cfe2f2; --alarm: #b3261e; --grid: #e8ecf0; }
@media (prefers-color-scheme: dark) { :root { --ink: #e3e9ef; --soft: #9aa7b4; --line: #34414d; --accent: #6cb6ef;
  --paper: #14191f; --panel: #1c242c; --good: #234a2c; --bad: #5c2521; --speed: #1d3f5c; --alarm: #ff8a80;
  --grid: #2a343e; } }
* { box-sizing: border-box; }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 0 auto;
  max-width: 1250px; padding: 1.2rem; }
h1 { font-size: 1.5rem; margin: 0 0 .5rem; } h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; }
.verdict { font-size: 1.1rem; border-left: 4px solid var(--accent); padding: .4rem .9rem; background: var(--panel); }
.starts { position: sticky; top: 0; z-index: 3; background: var(--paper); padding: .4rem 0; display: flex; gap: 1rem;
  border-bottom: 1px solid var(--line); } .starts b { color: var(--soft); font-weight: 600; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .25rem .6rem; border-bottom: 1px solid var(--line); white-space: nowrap; }
th { cursor: pointer; user-select: none; color: var(--soft); font-weight: 600; }
th.up::after { content: " ▲"; } th.down::after { content: " ▼"; }
td.n { text-align: right; } tr:hover td { box-shadow: inset 0 0 0 99px rgb(127 127 127 / 8%); }
td.bar { background: linear-gradient(to right, var(--fill) calc(100% * var(--part)), transparent 0); }
td.good { --fill: var(--good); } td.bad { --fill: var(--bad); } td.speed { --fill: var(--speed); }
td.bad, td.limit, td.false, tr.failed td:nth-child(4) { color: var(--alarm); }
td.false, tr.failed td:nth-child(4) { font-weight: 700; }
input.filter { padding: .35rem .6rem; width: min(28rem, 95%); border: 1px solid var(--line); margin-bottom: .5rem;
  background: var(--paper); color: var(--ink); font: inherit; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; color: var(--soft); }
dd { margin: 0; overflow-wrap: anywhere; }
.figures { display: grid; grid-template-columns: minmax(0, 1fr); gap: 1rem; }
.figure { min-width: 0; overflow: hidden; } .all { font-weight: 600; }
@media (min-width: 1000px) { .figures { grid-template-columns: repeat(2, minmax(0, 1fr)); } }
.long { max-height: 34rem; overflow: auto; } .long th { position: sticky; top: 0; background: var(--paper); }
</style>
<script>$plotly</script></head><body>
<h1>$title</h1>
<p class="verdict">$verdict</p>
<div class="starts"><b>start</b>$starts</div>
<h2>Ranking</h2>
<p>Most problems solved first, then by the shifted geometric mean of the seconds, failures counted at the time limit.
Solved means: our judge, asked about the returned point, finds it within the tolerance. Bars: part solved, and speed
on a scale of powers of ten from the time limit (none) to the fastest (full).</p>
<div class="scroll">$ranking</div>
<h2>Profiles</h2>
<div class="figures">$figures</div>
<h2>By category</h2>
<div class="scroll">$categories</div>
<h2>Claims not confirmed</h2>
<div class="scroll">$claims</div>
<h2>Every run</h2>
<input class="filter" data-for="rows" aria-label="filter" placeholder="words that must occur, as in: four-bar ✗">
<label><input type="checkbox" id="failures"> failures only</label>
<div class="scroll long">$rows</div>
<h2>Machine and settings</h2>
$about
<script>
function key(cell) { return cell.dataset.k !== undefined ? parseFloat(cell.dataset.k) : cell.textContent; }
for (const table of document.querySelectorAll("table")) {
  const heads = table.querySelectorAll("th");
  heads.forEach((head, column) => head.addEventListener("click", () => {
    const down = head.classList.contains("up");
    heads.forEach(h => h.classList.remove("up", "down"));
    head.classList.add(down ? "down" : "up");
    const body = table.tBodies[0];
    const rows = [...body.rows].sort((a, b) => {
      const x = key(a.cells[column]), y = key(b.cells[column]);
      const order = typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y));
      return down ? -order : order;
    });
    body.append(...rows);
  }));
}
const filter = document.querySelector("input.filter"), failures = document.getElementById("failures");
function chosen() { return document.querySelector("input[name=start]:checked").value; }
function isShown(row, start) { return start === "both" || row.dataset.start === start; }
function show() {
  const start = chosen(), words = filter.value.toLowerCase().split(/\\s+/).filter(Boolean);
  for (const row of document.querySelectorAll("tbody tr")) {
    const listed = row.closest("table").id !== "rows" || (words.every(w => row.textContent.toLowerCase().includes(w))
      && (!failures.checked || row.classList.contains("failed")));
    row.hidden = !(isShown(row, start) && listed);
  }
}
function draw() {
  const style = getComputedStyle(document.documentElement), start = chosen();
  const ink = style.getPropertyValue("--ink"), grid = style.getPropertyValue("--grid");
  for (const plot of document.querySelectorAll(".plotly-graph-div")) {
    Plotly.restyle(plot, { visible: plot.data.map(t => t.meta === undefined || start === "both" || t.meta === start) });
    Plotly.relayout(plot, { "font.color": ink, "xaxis.gridcolor": grid, "yaxis.gridcolor": grid,
      "xaxis.zerolinecolor": grid, "yaxis.zerolinecolor": grid, width: plot.parentElement.clientWidth });
  }
}
for (const input of document.querySelectorAll("input[name=start]")) {
  input.addEventListener("change", () => { show(); draw(); });
}
filter.addEventListener("input", show); failures.addEventListener("change", show);
window.addEventListener("resize", draw);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
show(); draw();
</script></body></html>
""")
