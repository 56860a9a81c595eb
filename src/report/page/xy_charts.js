"use strict";
// Charts with two numeric axes: lines, and predicted against measured.

Object.assign(carpoolCharts, (() => {
  const { axis, axisTitle, baseOptions, drawing, number, withUnit, NARROW, THIN_SPACE } = carpoolCharts;

  const SHAPES = ["circle", "triangle", "rect", "rectRot", "star", "crossRot", "cross"];
  const DASHES = [[], [6, 3], [2, 3], [8, 3, 2, 3]];
  const MOST_MARKED = 60; // points of a line; the marks of more would cover it

  // The shaded spread of a highlighted line: an invisible upper edge filled down to a lower one.
  function spreadBand(spec, one, colour) {
    const edge = (side) => ({
      label: "",
      data: spec.xs.map((x, i) => ({ x, y: one.spread[i] ? one.spread[i][side] : null })),
      borderWidth: 0,
      pointRadius: 0,
      pointHitRadius: 0,
      backgroundColor: `${colour}2b`,
      order: 10,
      isBand: true,
    });
    return [{ ...edge(1), fill: "+1" }, { ...edge(0), fill: false }];
  }

  function line(spec, theme, width) {
    const options = baseOptions(theme, width);
    let other = 0;
    const datasets = spec.series.flatMap((one) => {
      const place = one.highlight ? 0 : other++;
      const colour = one.highlight ? theme.accent : theme.series[place % theme.series.length];
      const lineSet = {
        label: one.name,
        data: spec.xs.map((x, i) => ({ x, y: one.values[i] ?? null })),
        spread: one.spread,
        borderColor: colour,
        backgroundColor: colour,
        borderWidth: one.highlight ? 3.5 : 1.75,
        borderDash: one.highlight ? [] : DASHES[Math.floor(place / theme.series.length) % DASHES.length],
        pointStyle: one.highlight ? "circle" : SHAPES[(place + 1) % SHAPES.length],
        pointRadius: spec.xs.length > MOST_MARKED ? 0 : one.highlight ? 4.5 : 3.5,
        clip: 8, // do not cut points on the edge of the plot
        order: one.highlight ? 0 : 1,
      };
      return one.highlight && one.spread.length ? [lineSet, ...spreadBand(spec, one, colour)] : [lineSet];
    });
    const margin = spec.xs.length === 1 ? 1 : 0; // a single x needs an axis of some width
    options.interaction = { mode: "index", intersect: false };
    options.scales = {
      x: axis(theme, axisTitle(spec.x), {
        type: "linear",
        min: Math.min(...spec.xs) - margin,
        max: Math.max(...spec.xs) + margin,
        ticks: { callback: (value) => number(value, spec.x.decimals) },
        afterBuildTicks: (scale) => {
          if (spec.xs.length <= 20) scale.ticks = spec.xs.map((value) => ({ value }));
        },
      }),
      y: axis(theme, axisTitle(spec.y), {
        beginAtZero: spec.yMin === null,
        min: spec.yMin ?? undefined,
        max: spec.yMax ?? undefined,
      }),
    };
    options.plugins.legend.labels.filter = (item, data) => !data.datasets[item.datasetIndex].isBand;
    options.plugins.tooltip.filter = (item) => !item.dataset.isBand;
    options.plugins.tooltip.itemSort = (a, b) => b.parsed.y - a.parsed.y;
    options.plugins.tooltip.callbacks = {
      title: ([item]) => (item ? `${spec.x.name}: ${number(item.parsed.x, spec.x.decimals)}` : ""),
      label: (item) => {
        const spread = item.dataset.spread?.[item.dataIndex];
        const range = spread ? `  (${number(spread[0], spec.y.decimals)} to ${withUnit(spread[1], spec.y)})` : "";
        return ` ${item.dataset.label}: ${withUnit(item.parsed.y, spec.y)}${range}`;
      },
    };
    return { height: width < NARROW ? 460 : 440, config: { type: "line", data: { datasets }, options } };
  }

  // Smallest and largest value of all points, with a margin; the same for both axes, so that equality
  // is the diagonal.
  function sharedRange(series) {
    let low = Infinity;
    let high = 0;
    for (const { points } of series) {
      for (const { x, y } of points) {
        low = Math.min(low, x, y);
        high = Math.max(high, x, y);
      }
    }
    if (high === 0) return [1, 10];
    const margin = Math.max(1.15, Math.sqrt((10 * low) / high)); // at least one power of ten
    return [low / margin, high * margin];
  }

  function equality(theme, spec, [low, high]) {
    return drawing("beforeDatasetsDraw", function equality(chart, ctx) {
      const { x, y } = chart.scales;
      const { left, top, right, bottom } = chart.chartArea;
      const path = (factor, back) => {
        const ends = back ? [high, low] : [low, high];
        for (const at of ends) ctx.lineTo(x.getPixelForValue(at), y.getPixelForValue(at * factor));
      };
      ctx.beginPath();
      ctx.rect(left, top, right - left, bottom - top);
      ctx.clip();
      if (spec.band) {
        ctx.fillStyle = theme.accentSoft;
        ctx.beginPath();
        path(1 + spec.band, false);
        path(1 - spec.band, true);
        ctx.fill();
      }
      ctx.strokeStyle = theme.inkSoft;
      ctx.beginPath();
      path(1, false);
      ctx.stroke();
    });
  }

  // Ticks of a logarithmic axis: 1, 2 and 5 of each power of ten.
  function logTicks(scale) {
    const ticks = [];
    for (let power = Math.floor(Math.log10(scale.min)); power <= Math.log10(scale.max); ++power) {
      for (const digit of [1, 2, 5]) {
        const value = digit * 10 ** power;
        if (value >= scale.min && value <= scale.max) ticks.push({ value, major: digit === 1 });
      }
    }
    scale.ticks = ticks;
  }

  function scatter(spec, theme, width) {
    const options = baseOptions(theme, width);
    const range = sharedRange(spec.series);
    let other = 0;
    const logAxis = (what) => axis(theme, `${what} ${axisTitle(spec.value)}`, {
      type: "logarithmic",
      min: range[0],
      max: range[1],
      afterBuildTicks: logTicks,
      ticks: { callback: (value) => String(Number(value.toPrecision(3))) },
    });
    options.scales = { x: logAxis("measured"), y: logAxis("predicted") };
    options.plugins.tooltip.callbacks = {
      title: ([item]) => (item ? item.raw.label : ""),
      label: (item) => [
        ` measured ${withUnit(item.raw.x, spec.value)}`,
        ` predicted ${withUnit(item.raw.y, spec.value)}`,
      ],
      footer: ([item]) => {
        if (!item) return "";
        const error = (item.raw.y / item.raw.x - 1) * 100;
        return `${item.dataset.label}: ${error >= 0 ? "+" : ""}${error.toFixed(1)}${THIN_SPACE}%`;
      },
    };
    return {
      height: Math.min(width, 660),
      maxWidth: 700, // about square: equality runs at 45 degrees
      config: {
        type: "scatter",
        data: {
          datasets: spec.series.map((one) => {
            const place = one.highlight ? 0 : other++;
            const colour = one.highlight ? theme.accent : theme.series[place % theme.series.length];
            return {
              label: one.name,
              data: one.points,
              backgroundColor: `${colour}a6`,
              borderColor: colour,
              borderWidth: 0.75,
              pointStyle: one.highlight ? "circle" : SHAPES[(place + 1) % SHAPES.length],
              pointRadius: one.highlight ? 4.5 : 3.5,
              pointHoverRadius: 7,
              order: one.highlight ? 0 : 1,
            };
          }),
        },
        options,
        plugins: [equality(theme, spec, range)],
      },
    };
  }

  return { line, scatter };
})());
