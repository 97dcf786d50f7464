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
  plot.style.height = chosen.layout.height ? `${chosen.layout.height}px` : "";
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

// A chart that was drawn while its details were folded has the size of nothing.
for (const details of document.querySelectorAll("details")) {
  details.addEventListener("toggle", () => {
    for (const plot of details.querySelectorAll(".js-plotly-plot")) if (plot.offsetWidth) Plotly.Plots.resize(plot);
  });
}

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
const LETTER = 7.3, NARROWEST = 17; // the width of a letter, and of a cell, in pixels

function element(name, attributes, text) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

// Names are left of their arrays, and each array is one row.
class WideLayout {
  constructor(trace, names) {
    this.names = names;
    this.longest = Math.max(trace.threads, ...names.map(name => trace.arrays[name].length));
    this.width = LEFT + this.longest * CELL + 8;
    this.height = names.length * ROW + 60;
    this.threadsLabel = [0, this.height - 29];
    this.radius = 13;
    this.cellHeight = 30;
  }
  place(name, position) { return [LEFT + position * CELL, 16 + this.names.indexOf(name) * ROW]; }
  cellWidth() { return CELL - 4; }
  label(name) { return [0, this.place(name, 0)[1] + 20]; }
  thread(number) { return [LEFT + number * CELL + CELL / 2 - 2, this.height - 34]; }
}

// For narrow screens: names are above their arrays. Cells are as wide as fits, and an array continues on the next row.
class NarrowLayout {
  constructor(trace, names, width) {
    this.width = width;
    this.cellHeight = 24;
    this.rows = {};
    const all = [trace.arrays, ...trace.steps.map(step => step.arrays)];
    let top = 0;
    for (const name of names) {
      const length = trace.arrays[name].length;
      const letters = Math.max(...all.flatMap(arrays => arrays[name].map(value => value === null ? 0 : String(value).length)));
      const needed = Math.max(NARROWEST, letters * LETTER + 3);
      const pitch = Math.min(CELL, Math.max(needed, width / length));
      const perRow = Math.max(1, Math.floor(width / pitch + 1e-6));
      this.rows[name] = { top: top + 16, pitch, perRow };
      top += 16 + Math.ceil(length / perRow) * (this.cellHeight + 4) + 12; // a curve below a row needs 12
    }
    this.threadPitch = Math.min(CELL, width / trace.threads);
    this.radius = Math.min(13, this.threadPitch / 2 - 1);
    this.threadsLabel = [0, top + 12];
    this.threadsTop = top + 18 + this.radius;
    this.height = this.threadsTop + this.radius + 2;
  }
  place(name, position) {
    const { top, pitch, perRow } = this.rows[name];
    return [position % perRow * pitch, top + Math.floor(position / perRow) * (this.cellHeight + 4)];
  }
  cellWidth(name) { return this.rows[name].pitch - 2; }
  label(name) { return [0, this.rows[name].top - 4]; }
  thread(number) { return [number * this.threadPitch + this.threadPitch / 2, this.threadsTop]; }
}

class Drawing {
  constructor(box) {
    this.trace = data[box.dataset.problem].drawings[box.dataset.rung];
    this.box = box;
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
    this.slider.value = this.trace.shown;
    this.untouched = true;
    this.slider.addEventListener("input", () => { this.untouched = false; this.show(); });
    this.button.addEventListener("click", () => this.play());
    new ResizeObserver(() => this.fit()).observe(box);
    this.fit();
  }

  // Chooses the layout for the current width. Folded drawings have none: they are drawn when they are unfolded.
  fit() {
    const width = Math.floor(this.box.clientWidth);
    if (width === this.fitted) return;
    this.fitted = width;
    const wide = new WideLayout(this.trace, this.names);
    this.layout = width > 0 && width < wide.width ? new NarrowLayout(this.trace, this.names, width) : wide;
    this.show();
  }

  play() {
    if (this.timer) return this.stop();
    if (this.untouched || this.slider.value === this.slider.max) this.slider.value = 0;
    this.untouched = false;
    this.show();
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

  show() {
    const layout = this.layout, tall = layout.cellHeight;
    const at = Number(this.slider.value);
    const step = at > 0 ? this.trace.steps[at - 1] : undefined;
    const arrays = step ? step.arrays : this.trace.arrays;
    this.output.textContent = `${at} of ${this.trace.steps.length}`;
    const turns = step && step.turns > 1 ? `; the slowest bank takes ${step.turns} turns` : "";
    this.text.textContent = step ? step.text + turns : "before the first step";
    this.svg.setAttribute("viewBox", `0 0 ${layout.width} ${layout.height}`);
    this.svg.style.setProperty("--natural", `${layout.width}px`);
    const written = new Set(step ? step.moves.map(([, , target]) => target.join()) : []);
    const parts = [];
    const middle = name => layout.cellWidth(name) / 2;
    for (const name of this.names) {
      const [labelX, labelY] = layout.label(name);
      parts.push(element("text", { x: labelX, y: labelY, class: "muted" }, name));
      arrays[name].forEach((value, position) => {
        const [x, y] = layout.place(name, position);
        const kind = written.has(`${name},${position}`) ? "cell written" : "cell";
        parts.push(element("rect", { x, y, width: layout.cellWidth(name), height: tall, rx: 4, class: kind }));
        parts.push(element("text", { x: x + middle(name), y: y + tall / 2 + 5, "text-anchor": "middle" }, value === null ? "" : String(value)));
      });
    }
    for (const [, sources, [array, position]] of step ? step.moves : []) {
      const [x1, y1] = layout.place(array, position);
      for (const [from, place] of sources) {
        const [x0, y0] = layout.place(from, place);
        if (x0 === x1 && y0 === y1) continue;
        const [a, b] = [x0 + middle(from), x1 + middle(array)];
        const path = y0 === y1 ? `M${a},${y0 + tall} Q${(a + b) / 2},${y0 + tall + 24} ${b},${y0 + tall}`
          : y0 < y1 ? `M${a},${y0 + tall} L${b},${y1}` : `M${a},${y0} L${b},${y1 + tall}`;
        parts.push(element("path", { d: path, class: "move" }));
      }
    }
    parts.push(element("text", { x: layout.threadsLabel[0], y: layout.threadsLabel[1], class: "muted" }, "threads"));
    const working = new Set(step ? step.moves.map(([thread]) => thread) : []);
    const waiting = new Set(step ? step.waiting : []);
    for (let thread = 0; thread < this.trace.threads; ++thread) {
      const kind = working.has(thread) ? "thread working" : waiting.has(thread) ? "thread waiting" : "thread";
      const [x, y] = layout.thread(thread);
      const circle = element("circle", { cx: x, cy: y, r: layout.radius, class: kind });
      circle.append(element("title", {}, working.has(thread) ? "works" : waiting.has(thread) ? "waits" : "idle"));
      parts.push(circle, element("text", { x, y: y + 4, "text-anchor": "middle", class: working.has(thread) ? "on" : "muted" }, thread));
    }
    this.svg.replaceChildren(...parts);
  }
}

for (const box of document.querySelectorAll(".drawing")) new Drawing(box);
