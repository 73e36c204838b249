"""The frame of the report: style, script for sorting and filtering, places for the content."""

from string import Template

PAGE = Template("""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>$title</title>
<style>
:root { --ink: #1c2733; --soft: #5b6b7b; --line: #d8dee5; --accent: #0b66a8; }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); margin: 0 auto; max-width: 1200px; padding: 1.5rem; }
h1 { font-size: 1.5rem; margin: 0 0 .5rem; } h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; }
.verdict { font-size: 1.1rem; border-left: 4px solid var(--accent); padding: .4rem .9rem; background: #f3f7fb; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .25rem .6rem; border-bottom: 1px solid var(--line); white-space: nowrap; }
th { cursor: pointer; user-select: none; color: var(--soft); font-weight: 600; }
th.up::after { content: " ▲"; } th.down::after { content: " ▼"; }
td.n { text-align: right; } tr:hover td { background: #f6f9fc; }
input.filter { padding: .35rem .6rem; width: min(28rem, 95%); border: 1px solid var(--line); margin-bottom: .5rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; color: var(--soft); }
dd { margin: 0; overflow-wrap: anywhere; }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 520px), 1fr)); gap: 1rem; }
.long { max-height: 34rem; overflow: auto; }
</style>
<script>$plotly</script></head><body>
<h1>$title</h1>
<p class="verdict">$verdict</p>
<h2>Ranking</h2>
<p>Most problems solved first, then by the shifted geometric mean of the seconds, failures counted at the time limit.
Solved means: our judge, asked about the returned point, finds it within the tolerance.</p>
<div class="scroll">$ranking</div>
<h2>Profiles</h2>
<div class="figures">$figures</div>
<h2>By category</h2>
<div class="scroll">$categories</div>
<h2>Every run</h2>
<input class="filter" data-for="rows" aria-label="filter" placeholder="words that must occur, as in: four-bar warm">
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
for (const input of document.querySelectorAll("input.filter")) {
  const table = document.getElementById(input.dataset.for);
  input.addEventListener("input", () => {
    const words = input.value.toLowerCase().split(/\\s+/).filter(Boolean);
    for (const row of table.tBodies[0].rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every(word => text.includes(word));
    }
  });
}
</script></body></html>
""")
