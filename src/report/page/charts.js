"use strict";
// Bar charts, and what all charts share: builds Chart.js configurations from the data of the report. Every chart takes its colours from the
// style sheet through `theme`, so that it can be rebuilt when they change.

const carpoolCharts = (() => {
  const THIN_SPACE = "\u202f";
  const NARROW = 520; // px: a phone in portrait mode

  const number = (value, decimals) => (value === null ? "–" : value.toFixed(decimals));
  const withUnit = (value, quantity) => {
    const gap = quantity.unit === "×" ? "" : THIN_SPACE;
    return number(value, quantity.decimals) + (quantity.unit && value !== null ? gap + quantity.unit : "");
  };
  const axisTitle = (quantity) => quantity.name + (quantity.unit ? ` (${quantity.unit})` : "");
  // The title of a short axis in lines: Chart.js squeezes a line that is longer than its axis.
  function axisTitleLines(quantity, width) {
    const title = axisTitle(quantity);
    if (width >= NARROW) return title;
    const lines = [""];
    for (const word of title.split(" ")) {
      const longer = `${lines.at(-1)} ${word}`.trim();
      if (longer.length <= 20) lines[lines.length - 1] = longer;
      else lines.push(word);
    }
    return lines;
  }

  // Workload names differ at both ends (model … batch and task): cut the middle.
  const shorten = (label, most) => {
    const tail = Math.ceil(most * 0.55);
    return label.length <= most ? label : `${label.slice(0, most - tail - 1)}…${label.slice(-tail)}`;
  };
  // A label beside a bar: one line if there is room, else two, broken at the separator nearest the
  // middle.
  function fold(label, width) {
    if (width >= NARROW) return shorten(label, 36);
    const most = 18;
    if (label.length <= most) return label;
    const middle = label.length / 2;
    const breaks = [...label.matchAll(/[-_ /+]/g)].map((found) => found.index);
    const at = breaks.sort((a, b) => Math.abs(a - middle) - Math.abs(b - middle))[0];
    if (at === undefined) return shorten(label, most);
    return [label.slice(0, at), label.slice(at + 1)].map((part) => shorten(part, most));
  }

  const fontSize = (width) => (width < NARROW ? 11 : 12);

  // Chart.js leaves no space between legend and plot.
  Chart.register({
    id: "legendGap",
    beforeInit(chart) {
      const fit = chart.legend?.fit;
      if (!fit) return;
      chart.legend.fit = function fitWithGap() {
        fit.call(this);
        this.height += 8;
      };
    },
  });

  function baseOptions(theme, width) {
    return {
      responsive: true,
      maintainAspectRatio: false,
      animation: false,
      font: { family: theme.font, size: fontSize(width) },
      color: theme.ink,
      plugins: {
        legend: {
          position: "top",
          align: "start",
          labels: { usePointStyle: true, boxWidth: 8, boxHeight: 8, padding: 14, color: theme.ink },
        },
        tooltip: {
          backgroundColor: theme.surface,
          titleColor: theme.ink,
          bodyColor: theme.ink,
          footerColor: theme.inkSoft,
          borderColor: theme.line,
          borderWidth: 1,
          padding: 10,
          cornerRadius: 8,
          usePointStyle: true,
          boxPadding: 5,
          footerFont: { weight: "normal" },
        },
      },
    };
  }

  function axis(theme, title, extra = {}) {
    return {
      grid: { color: theme.grid, borderColor: theme.line, tickColor: theme.line },
      title: { display: Boolean(title), text: title, color: theme.inkSoft },
      ...extra,
      ticks: { color: theme.inkSoft, ...extra.ticks },
    };
  }

  function categoryAxis(theme, labels) {
    return axis(theme, "", {
      grid: { display: false, borderColor: theme.line },
      ticks: {
        color: theme.ink,
        autoSkip: false,
        callback(value) { return fold(labels[value], this.chart.width); },
      },
    });
  }

  // A plugin that draws and then restores the state of the canvas.
  const drawing = (hook, draw) => ({
    id: hook + draw.name,
    [hook](chart) {
      chart.ctx.save();
      draw(chart, chart.ctx);
      chart.ctx.restore();
    },
  });

  function whiskers(theme, bars) {
    return drawing("afterDatasetsDraw", function whiskers(chart, ctx) {
      ctx.strokeStyle = theme.ink;
      ctx.lineWidth = 1.25;
      chart.getDatasetMeta(0).data.forEach((element, i) => {
        const spread = bars[i].spread;
        if (!spread || spread[0] === null || spread[1] === null) return;
        const [low, high] = spread.map((value) => chart.scales.x.getPixelForValue(value));
        const cap = Math.min(4, element.height / 3);
        ctx.beginPath();
        ctx.moveTo(low, element.y);
        ctx.lineTo(high, element.y);
        for (const end of [low, high]) {
          ctx.moveTo(end, element.y - cap);
          ctx.lineTo(end, element.y + cap);
        }
        ctx.stroke();
      });
    });
  }

  // Values in a column at the right, where no bar or whisker crosses them.
  function valueLabels(theme, spec) {
    return drawing("afterDatasetsDraw", function valueLabels(chart, ctx) {
      ctx.textBaseline = "middle";
      ctx.textAlign = "right";
      chart.getDatasetMeta(0).data.forEach((element, i) => {
        const ours = spec.bars[i].kind === 0;
        ctx.font = `${ours ? "600 " : ""}12px ${theme.font}`;
        ctx.fillStyle = ours ? theme.accent : theme.ink;
        ctx.fillText(withUnit(spec.bars[i].value, spec.value), chart.width - 2, element.y);
      });
    });
  }

  function referenceLine(theme, reference) {
    return drawing("beforeDatasetsDraw", function referenceLine(chart, ctx) {
      if (!reference || reference.value === null) return;
      const x = chart.scales.x.getPixelForValue(reference.value);
      const { top, bottom } = chart.chartArea;
      ctx.strokeStyle = theme.inkSoft;
      ctx.setLineDash([5, 4]);
      ctx.beginPath();
      ctx.moveTo(x, top);
      ctx.lineTo(x, bottom);
      ctx.stroke();
    });
  }

  const kindColours = (theme) => [theme.accent, theme.kind1, theme.kind2, theme.kind3];
  const pick = (list, index) => list[Math.min(index, list.length - 1)];

  function bar(spec, theme, width) {
    const options = baseOptions(theme, width);
    const colours = kindColours(theme);
    options.indexAxis = "y";
    const longest = Math.max(...spec.bars.map((one) => withUnit(one.value, spec.value).length));
    options.layout = { padding: { right: longest * 7.5 + 10 } };
    options.scales = {
      x: axis(theme, axisTitleLines(spec.value, width), { beginAtZero: true, suggestedMax: spec.reference?.value ?? undefined }),
      y: categoryAxis(theme, spec.bars.map((one) => one.label)),
    };
    options.plugins.legend.onClick = () => {};
    const key = (text, colour, extra) => (
      { text, fillStyle: colour, strokeStyle: colour, fontColor: theme.ink, pointStyle: "rectRounded", ...extra });
    const keys = spec.kinds.map((text, i) => key(text, pick(colours, i)));
    if (spec.reference) {
      keys.push(key(spec.reference.label, theme.inkSoft, { pointStyle: "line", lineWidth: 2, lineDash: [3, 2] }));
    }
    options.plugins.legend.labels.generateLabels = () => keys;
    options.plugins.legend.display = keys.length > 1;
    options.plugins.tooltip.callbacks = {
      label: (item) => withUnit(spec.bars[item.dataIndex].value, spec.value),
      footer: ([item]) => {
        const spread = spec.bars[item.dataIndex].spread;
        return spread ? `${spec.spreadName}: ${withUnit(spread[0], spec.value)} to ${withUnit(spread[1], spec.value)}` : "";
      },
    };
    return {
      height: spec.bars.length * 30 + 96,
      config: {
        type: "bar",
        data: {
          labels: spec.bars.map((one) => one.label),
          datasets: [{
            data: spec.bars.map((one) => one.value),
            backgroundColor: spec.bars.map((one) => pick(colours, one.kind)),
            borderRadius: 3,
            barPercentage: 0.72,
            categoryPercentage: 1,
          }],
        },
        options,
        plugins: [referenceLine(theme, spec.reference), whiskers(theme, spec.bars), valueLabels(theme, spec)],
      },
    };
  }

  function grouped(spec, theme, width) {
    const options = baseOptions(theme, width);
    const colours = [theme.accent, ...theme.series];
    let other = 0;
    options.indexAxis = "y";
    options.interaction = { mode: "index", axis: "y", intersect: false };
    options.scales = {
      x: axis(theme, axisTitleLines(spec.value, width), { beginAtZero: true }),
      y: categoryAxis(theme, spec.categories),
    };
    options.plugins.tooltip.callbacks = {
      label: (item) => ` ${item.dataset.label}: ${withUnit(item.raw, spec.value)}`,
    };
    const rowHeight = spec.series.length * 9 + 8;
    return {
      height: spec.categories.length * rowHeight + 96,
      config: {
        type: "bar",
        data: {
          labels: spec.categories,
          datasets: spec.series.map((one) => ({
            label: one.name,
            data: one.values,
            backgroundColor: one.highlight ? colours[0] : pick([...kindColours(theme).slice(1, 3), ...theme.series], other++),
            borderRadius: 2,
            barPercentage: 0.95,
            categoryPercentage: 0.8,
            pointStyle: "rectRounded",
          })),
        },
        options,
      },
    };
  }

  return { bar, grouped, axis, axisTitle, baseOptions, drawing, number, shorten, withUnit, NARROW, THIN_SPACE };
})();
