"use strict";
// The matrix of slowdowns. Chart.js has no heat map: an invisible scatter chart with one point per cell
// gives axes and tooltips, and a plugin paints the cells.

carpoolCharts.matrix = (() => {
  const { axis, baseOptions, drawing, number, shorten, NARROW } = carpoolCharts;
  const SHOWS = ["predicted", "measured"];

  const rgb = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));

  // Colour of a slowdown: logarithmic from 1 to the largest, so that 2 and 4 differ as 1 and 2.
  function ramp(stops, largest) {
    const colours = stops.map(rgb);
    return (value) => {
      const span = Math.log(Math.max(largest, 1.0001));
      const at = Math.min(Math.max(Math.log(value) / span, 0), 1) * (colours.length - 1);
      const left = Math.min(Math.floor(at), colours.length - 2);
      return colours[left].map((channel, i) => Math.round(channel + (colours[left + 1][i] - channel) * (at - left)));
    };
  }

  // Black or white, whichever is legible on the colour (relative luminance of WCAG, simplified).
  const inkOn = ([r, g, b]) => (0.2126 * r * r + 0.7152 * g * g + 0.0722 * b * b > 0.3 * 255 * 255 ? "#1b2430" : "#ffffff");

  function painter(theme, colourOf) {
    return drawing("beforeDatasetsDraw", function cells(chart, ctx) {
      const { x, y } = chart.scales;
      const wide = Math.abs(x.getPixelForValue(1) - x.getPixelForValue(0));
      const high = Math.abs(y.getPixelForValue(1) - y.getPixelForValue(0));
      const gap = wide > 10 ? 1 : 0;
      ctx.textAlign = "center";
      ctx.textBaseline = "middle";
      ctx.font = `${Math.min(11, wide / 2.7)}px ${theme.font}`;
      for (const cell of chart.data.datasets[0].data) {
        if (cell.value === null) continue;
        const colour = colourOf(cell.value);
        const left = x.getPixelForValue(cell.x) - wide / 2;
        const top = y.getPixelForValue(cell.y) - high / 2;
        ctx.fillStyle = `rgb(${colour.join(",")})`;
        // Without a gap, cells overlap by half a pixel to hide seams.
        ctx.fillRect(left, top, wide - gap + (gap ? 0 : 0.5), high - gap + (gap ? 0 : 0.5));
        if (wide >= 24) {
          ctx.fillStyle = inkOn(colour);
          ctx.fillText(number(cell.value, 1), left + (wide - gap) / 2, top + high / 2);
        }
      }
    });
  }

  const speed = (value) => (value >= 1 ? `${number(value, 2)}× slower` : `${number(1 / value, 2)}× faster`);

  function sentence({ predicted, measured }) {
    if (predicted === null) return measured === null ? "no value" : `${speed(measured)} (measured)`;
    return `${speed(predicted)} (predicted${measured === null ? "" : `; measured ${number(measured, 2)}×`})`;
  }

  function labelAxis(theme, labels, title, most, extra) {
    return axis(theme, title, {
      type: "linear",
      min: -0.5,
      max: labels.length - 0.5,
      grid: { display: false, drawBorder: false },
      afterBuildTicks: (scale) => { scale.ticks = labels.map((_, value) => ({ value })); },
      ...extra,
      ticks: {
        color: theme.ink,
        autoSkip: labels.length > 60,
        font: { size: 11 },
        callback: (value) => shorten(labels[value], most),
        ...extra.ticks,
      },
    });
  }

  return function matrix(spec, theme, width, state) {
    const shown = state.shown ?? "predicted";
    const cells = spec.cells.map(([workload, beside, predicted, measured]) => ({
      x: beside, y: workload, predicted, measured, value: shown === "measured" ? measured : predicted,
    }));
    // One scale for both views, so that predicted and measured colours are comparable.
    const all = cells.flatMap((cell) => [cell.predicted, cell.measured]).filter((value) => value !== null);
    const largest = all.reduce((a, b) => Math.max(a, b), 2); // at least 2: values near 1 stay pale
    const options = baseOptions(theme, width);
    const most = width < NARROW ? 20 : 30;
    const count = spec.workloads.length;
    const room = Math.min(most, Math.max(...spec.workloads.map((name) => name.length))) * 6 + 30;
    const cell = Math.max(count > 60 ? 5 : 13, Math.min(count > 6 ? 34 : 60, (width - room) / count));
    const roomy = cell * count > 180; // px: the titles of the axes fit
    options.plugins.legend.display = false;
    options.interaction = { mode: "nearest", intersect: false };
    options.scales = {
      x: labelAxis(theme, spec.workloads, roomy ? "… beside this one" : "", most, {
        position: "top", ticks: { minRotation: 90, maxRotation: 90 },
      }),
      y: labelAxis(theme, spec.workloads, roomy ? "slowdown of this workload …" : "", most, { reverse: true }),
    };
    options.plugins.tooltip.displayColors = false;
    options.plugins.tooltip.callbacks = {
      title: ([item]) => (item ? `${spec.workloads[item.raw.y]}\nbeside ${spec.workloads[item.raw.x]}` : ""),
      label: (item) => sentence(item.raw),
    };
    // Chart.js gives an axis at most half of the chart, so with few cells the labels set the size.
    const size = Math.max(cell * count + room, 2 * room);
    return {
      height: size,
      minWidth: size,
      maxWidth: size,
      tools: { shows: SHOWS, shown, low: "1× (solo speed)", high: `${number(largest, 1)}× slower` },
      config: {
        type: "scatter",
        data: { datasets: [{ data: cells, pointRadius: 0, pointHoverRadius: 0, pointHitRadius: cell / 2 }] },
        options,
        plugins: [painter(theme, ramp(theme.heat, largest))],
      },
    };
  };
})();
