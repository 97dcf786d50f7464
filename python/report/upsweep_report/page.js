"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const dark = matchMedia("(prefers-color-scheme: dark)");

// ---- charts: drawn when they come into view, and again when the colors change

function themed(layout) {
  const style = getComputedStyle(document.documentElement);
  const colour = name => style.getPropertyValue(name).trim();
  const axis = { gridcolor: colour("--line"), zerolinecolor: colour("--line"), linecolor: colour("--line") };
  return { ...layout, height: undefined, xaxis: { ...axis, ...layout.xaxis }, yaxis: { ...axis, ...layout.yaxis }, font: { color: colour("--text") },
    modebar: { bgcolor: "rgba(0,0,0,0)", color: colour("--muted"), activecolor: colour("--text") }, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)" };
}

// No data leaves the page: plotly's button to upload a chart is removed, and its tools to select points.
const config = { responsive: true, displaylogo: false, plotlyServerURL: "", modeBarButtonsToRemove: ["sendChartToCloud", "select2d", "lasso2d"] };

function draw(figure) {
  const choices = data[figure.dataset.problem].charts[figure.dataset.chart];
  const chosen = choices[figure.querySelector("select").value];
  const plot = figure.querySelector(".plot");
  plot.style.height = chosen.layout.height ? `max(25rem, ${chosen.layout.height}px)` : "";
  Plotly.react(plot, chosen.data, themed(chosen.layout), config);
}

const seen = new IntersectionObserver(entries => {
  for (const entry of entries) {
    if (!entry.isIntersecting) continue;
    seen.unobserve(entry.target);
    draw(entry.target);
  }
}, { rootMargin: "400px" });
for (const figure of document.querySelectorAll("figure")) {
  seen.observe(figure);
  figure.querySelector("select").addEventListener("change", () => draw(figure));
}
dark.addEventListener("change", () => {
  for (const figure of document.querySelectorAll("figure")) if (figure.querySelector(".js-plotly-plot, .plot-container")) draw(figure);
});

addEventListener("beforeprint", () => {
  for (const figure of document.querySelectorAll("figure")) if (!figure.querySelector(".plot-container")) draw(figure);
});

// ---- tables: a click on a heading sorts, a button copies

function valueOf(cell) {
  const given = cell.dataset.value;
  return given === undefined ? cell.textContent : given === "" ? undefined : Number(given);
}

// Missing values come last, in either sort order.
function compare(a, b, direction) {
  if (a === undefined || b === undefined) return (a === undefined) - (b === undefined);
  return (a < b ? -1 : a > b ? 1 : 0) * direction;
}

function sort(heading) {
  const body = heading.closest("table").tBodies[0];
  const ascending = heading.getAttribute("aria-sort") !== "ascending";
  for (const other of heading.parentElement.children) other.removeAttribute("aria-sort");
  heading.setAttribute("aria-sort", ascending ? "ascending" : "descending");
  const value = row => valueOf(row.cells[heading.cellIndex]);
  body.append(...[...body.rows].sort((a, b) => compare(value(a), value(b), ascending ? 1 : -1)));
}

for (const heading of document.querySelectorAll("th")) {
  heading.tabIndex = 0;
  heading.addEventListener("click", () => sort(heading));
  heading.addEventListener("keydown", event => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    sort(heading);
  });
}

// The format that spreadsheets accept: tabs between numbers without units; the headings contain the units.
function asText(table) {
  const headings = [...table.tHead.rows[0].cells].map(heading => {
    const name = [...heading.childNodes].map(node => node.textContent).join(", ");
    return ["s", "GB/s"].includes(heading.dataset.unit) ? `${name} (${heading.dataset.unit})` : name;
  });
  const rows = [...table.tBodies[0].rows].map(row => [...row.cells].map(cell => cell.dataset.value ?? cell.textContent));
  return [headings, ...rows].map(cells => cells.join("\t")).join("\n") + "\n";
}

// If the browser denies access to the clipboard, the table is selected instead.
async function copy(table, button) {
  try {
    await navigator.clipboard.writeText(asText(table));
    button.textContent = "Copied";
  } catch {
    getSelection().selectAllChildren(table);
    button.textContent = "Selected: press Ctrl+C";
  }
  setTimeout(() => { button.textContent = "Copy"; }, 3000);
}

for (const table of document.querySelectorAll("table")) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "Copy";
  button.setAttribute("aria-live", "polite");
  button.addEventListener("click", () => copy(table, button));
  table.closest(".scroll").before(button);
}

// ---- drawings: arrays as rows of cells, moves as lines, threads as circles below

const CELL = 44, ROW = 64, LEFT = 84;

function element(name, attributes, text) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

class Drawing {
  constructor(box) {
    this.trace = data[box.dataset.problem].drawings[box.dataset.rung];
    this.svg = box.querySelector("svg");
    this.slider = box.querySelector("input");
    this.output = box.querySelector("output");
    this.text = box.querySelector(".step");
    this.button = box.querySelector("button");
    this.names = Object.keys(this.trace.arrays);
    const key = document.createElement("p");
    key.className = "key";
    const waits = this.trace.steps.some(step => step.waiting.length > 0) ? " Ring: it waits." : "";
    key.textContent = `Filled circle: the thread works. Hollow: it is idle.${waits} A line leads from a cell that is read to the cell that is written.`;
    box.append(key);
    this.slider.addEventListener("input", () => this.show());
    this.button.addEventListener("click", () => this.play());
    this.show();
  }

  play() {
    if (this.timer) return this.stop();
    if (this.slider.value === this.slider.max) this.slider.value = 0;
    this.button.textContent = "❚❚";
    this.button.setAttribute("aria-label", "pause");
    this.timer = setInterval(() => {
      this.slider.stepUp();
      this.show();
      if (this.slider.value === this.slider.max) this.stop();
    }, 900);
  }

  stop() {
    clearInterval(this.timer);
    this.timer = undefined;
    this.button.textContent = "▶";
    this.button.setAttribute("aria-label", "play");
  }

  place([array, position]) {
    return [LEFT + position * CELL, 16 + this.names.indexOf(array) * ROW];
  }

  show() {
    const at = Number(this.slider.value);
    const step = at > 0 ? this.trace.steps[at - 1] : undefined;
    const arrays = step ? step.arrays : this.trace.arrays;
    this.output.textContent = `${at} of ${this.trace.steps.length}`;
    const turns = step && step.turns > 1 ? `; the slowest bank takes ${step.turns} turns` : "";
    this.text.textContent = step ? step.text + turns : "before the first step";
    const longest = Math.max(this.trace.threads, ...this.names.map(name => arrays[name].length));
    const height = this.names.length * ROW + 60;
    const width = LEFT + longest * CELL + 8;
    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.svg.style.setProperty("--natural", `${width}px`);
    const written = new Set(step ? step.moves.map(([, , target]) => target.join()) : []);
    const parts = [];
    for (const name of this.names) {
      const [, y] = this.place([name, 0]);
      parts.push(element("text", { x: 0, y: y + 20, class: "muted" }, name));
      arrays[name].forEach((value, position) => {
        const [x] = this.place([name, position]);
        const kind = written.has(`${name},${position}`) ? "cell written" : "cell";
        parts.push(element("rect", { x, y, width: CELL - 4, height: 30, rx: 4, class: kind }));
        parts.push(element("text", { x: x + CELL / 2 - 2, y: y + 20, "text-anchor": "middle" }, value === null ? "" : String(value)));
      });
    }
    for (const [, sources, target] of step ? step.moves : []) {
      const [x1, y1] = this.place(target);
      for (const source of sources) {
        const [x0, y0] = this.place(source);
        if (x0 === x1 && y0 === y1) continue;
        const [from, to] = [x0 + CELL / 2 - 2, x1 + CELL / 2 - 2];
        const path = y0 === y1 ? `M${from},${y0 + 30} Q${(from + to) / 2},${y0 + 54} ${to},${y0 + 30}`
          : y0 < y1 ? `M${from},${y0 + 30} L${to},${y1}` : `M${from},${y0} L${to},${y1 + 30}`;
        parts.push(element("path", { d: path, class: "move" }));
      }
    }
    const bottom = height - 34;
    parts.push(element("text", { x: 0, y: bottom + 5, class: "muted" }, "threads"));
    const working = new Set(step ? step.moves.map(([thread]) => thread) : []);
    const waiting = new Set(step ? step.waiting : []);
    for (let thread = 0; thread < this.trace.threads; ++thread) {
      const kind = working.has(thread) ? "thread working" : waiting.has(thread) ? "thread waiting" : "thread";
      const x = LEFT + thread * CELL + CELL / 2 - 2;
      const circle = element("circle", { cx: x, cy: bottom, r: 13, class: kind });
      circle.append(element("title", {}, working.has(thread) ? "works" : waiting.has(thread) ? "waits" : "idle"));
      parts.push(circle, element("text", { x, y: bottom + 4, "text-anchor": "middle", class: working.has(thread) ? "on" : "muted" }, thread));
    }
    this.svg.replaceChildren(...parts);
  }
}

for (const box of document.querySelectorAll(".drawing")) new Drawing(box);
