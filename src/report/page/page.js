"use strict";
// Draws the charts, redraws them when the colours or the width change, makes tables sortable, and
// marks the current section in the contents.

(() => {
  const specs = JSON.parse(document.getElementById("chart-data").textContent);
  const drawn = new Map(); // element → { chart, state }

  function readTheme() {
    const style = getComputedStyle(document.documentElement);
    const get = (name) => style.getPropertyValue(name).trim();
    return {
      font: getComputedStyle(document.body).fontFamily,
      surface: get("--surface"),
      ink: get("--ink"),
      inkSoft: get("--ink-soft"),
      line: get("--line"),
      grid: get("--grid"),
      accent: get("--accent"),
      accentSoft: get("--accent-soft"),
      kind1: get("--kind-1"),
      kind2: get("--kind-2"),
      kind3: get("--kind-3"),
      series: [1, 2, 3, 4, 5, 6, 7].map((i) => get(`--series-${i}`)),
      heat: [0, 1, 2, 3, 4].map((i) => get(`--heat-${i}`)),
    };
  }

  const element = (name, className, text) => {
    const made = document.createElement(name);
    if (className) made.className = className;
    if (text) made.textContent = text;
    return made;
  };

  // Buttons and colour key above a heat map. They are placed before the chart, because a screen reader
  // treats the chart as one image and could not reach buttons inside it.
  function placeTools(holder, tools, state) {
    const before = holder.previousElementSibling;
    if (before?.classList.contains("chart-tools")) before.remove();
    const bar = element("div", "chart-tools");
    const choice = element("div", "choice");
    for (const what of tools.shows) {
      const button = element("button", "", what);
      button.type = "button";
      button.setAttribute("aria-pressed", String(what === tools.shown));
      button.addEventListener("click", () => {
        state.shown = what;
        draw(holder, readTheme());
        holder.previousElementSibling.querySelector("[aria-pressed=true]").focus();
      });
      choice.append(button);
    }
    const ramp = element("span", "ramp");
    ramp.append(element("span", "", tools.low), element("i"), element("span", "", tools.high));
    const blank = element("span", "blank-key");
    blank.append(element("i"), element("span", "", "no value"));
    bar.append(choice, ramp, blank);
    holder.before(bar);
  }

  function draw(holder, theme) {
    const state = drawn.get(holder)?.state ?? {};
    drawn.get(holder)?.chart.destroy();
    holder.replaceChildren();
    const spec = specs[Number(holder.dataset.chart)];
    const { height, minWidth, maxWidth, tools, config } =
      carpoolCharts[spec.type](spec, theme, holder.clientWidth, state);
    const scroll = element("div", "chart-scroll");
    const box = element("div", "chart-box");
    box.style.height = `${height}px`;
    if (minWidth) box.style.minWidth = `${minWidth}px`;
    if (maxWidth) box.style.maxWidth = `${maxWidth}px`;
    const canvas = element("canvas");
    box.append(canvas);
    scroll.append(box);
    holder.append(scroll);
    if (tools) placeTools(holder, tools, state);
    drawn.set(holder, { chart: new Chart(canvas, config), state, width: holder.clientWidth });
  }

  const holders = [...document.querySelectorAll(".chart[data-chart]")];
  function drawAll() {
    const theme = readTheme();
    Chart.defaults.font.family = theme.font;
    Chart.defaults.color = theme.ink;
    for (const holder of holders) draw(holder, theme);
  }

  function sortTable(table, column, heading) {
    const descending = heading.getAttribute("aria-sort") === "ascending";
    const body = table.tBodies[0];
    const text = (row) => row.cells[column].textContent.trim();
    const rows = [...body.rows].sort((a, b) => {
      const [left, right] = [text(a), text(b)];
      const [x, y] = [parseFloat(left), parseFloat(right)];
      // Cells without a number stay at the end in either direction.
      if (heading.dataset.numeric && Number.isNaN(x) !== Number.isNaN(y)) return Number.isNaN(x) ? 1 : -1;
      const order = heading.dataset.numeric && !Number.isNaN(x) ? x - y : left.localeCompare(right, "en");
      return descending ? -order : order;
    });
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", descending ? "descending" : "ascending");
    body.append(...rows);
  }

  function makeSortable(table) {
    [...table.tHead.rows[0].cells].forEach((heading, column) => {
      const button = element("button");
      button.type = "button";
      button.append(...heading.childNodes);
      const unit = button.querySelector(".unit");
      heading.append(button);
      if (unit) heading.append(unit);
      const filled = [...table.tBodies[0].rows].map((row) => row.cells[column].textContent.trim());
      if (filled.some((text) => /^-?\d/.test(text)) && filled.every((text) => /^(-?\d+(\.\d+)?( .*)?|–|)$/.test(text))) {
        heading.dataset.numeric = "yes";
      }
      button.addEventListener("click", () => sortTable(table, column, heading));
    });
  }

  function followContents() {
    const links = new Map();
    for (const link of document.querySelectorAll("nav a")) links.set(link.hash.slice(1), link);
    const mark = () => {
      let current = null;
      for (const section of document.querySelectorAll("main > section")) {
        if (section.getBoundingClientRect().top < 140) current = section.id;
      }
      for (const [id, link] of links) {
        if (id === current) link.setAttribute("aria-current", "true");
        else link.removeAttribute("aria-current");
      }
    };
    addEventListener("scroll", mark, { passive: true });
    mark();
  }

  drawAll();
  document.querySelectorAll("table.sortable").forEach(makeSortable);
  followContents();
  // Drawing the charts has moved the content: scroll to the anchor of the address again.
  document.getElementById(location.hash.slice(1))?.scrollIntoView({ behavior: "instant" });

  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);

  let waiting = 0;
  addEventListener("resize", () => {
    cancelAnimationFrame(waiting);
    waiting = requestAnimationFrame(() => {
      for (const holder of holders) {
        if (drawn.get(holder).width !== holder.clientWidth) draw(holder, readTheme());
      }
    });
  });

  // Print with the light colours.
  const forPrint = (on) => () => {
    document.documentElement.toggleAttribute("data-print", on);
    drawAll();
  };
  addEventListener("beforeprint", forPrint(true));
  addEventListener("afterprint", forPrint(false));
})();
