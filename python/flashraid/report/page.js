"use strict";
(() => {
  const configs = JSON.parse(document.getElementById("configs").textContent);
  const system = matchMedia("(prefers-color-scheme: dark)");
  const choice = document.getElementById("theme");
  const charts = [...document.querySelectorAll("figure.chart")].map((figure) => ({
    figure,
    ...JSON.parse(figure.querySelector("script.spec").textContent),
    drawings: [...figure.querySelectorAll(".drawing > div")],
    hidden: new Set(),
    zoom: null, // the part of the x axis shown, as shares of it
  }));
  // The column that tells series apart in most charts, whose values are hidden in all charts at once.
  const shared = { column: mostCommon(charts.filter((chart) => chart.series)), hidden: new Set() };

  // Of columns that mean the same in all of their charts: the values of each are among those of the one with most.
  function mostCommon(charts) {
    const groups = Object.values(Object.groupBy(charts, (chart) => chart.series)).filter((group) => {
      const most = group.reduce((one, other) => (other.values.length > one.values.length ? other : one));
      return group.length > 1 && group.every((chart) => chart.values.every((value) => most.values.includes(value)));
    });
    return groups.sort((one, other) => other.length - one.length)[0]?.[0].series ?? null;
  }

  const theme = () => (choice.value === "system" ? (system.matches ? "dark" : "light") : choice.value);

  // Data come by column: a list of numbers, or texts with the place of each value among them.
  const values = (column) => (Array.isArray(column) ? column : column.places.map((place) => column.texts[place]));

  function records(data) {
    const columns = Object.entries(data).map(([name, column]) => [name, values(column)]);
    const count = columns.length ? columns[0][1].length : 0;
    return Array.from({ length: count }, (_, at) => Object.fromEntries(columns.map(([name, all]) => [name, all[at]])));
  }

  // ---- drawing ----

  // Calls `visit` with every object inside a specification.
  function walk(value, visit) {
    if (value === null || typeof value !== "object") return;
    if (!Array.isArray(value)) visit(value);
    Object.values(value).forEach((inner) => walk(inner, visit));
  }

  function specification(chart, panel) {
    const spec = structuredClone(chart.spec);
    const isHidden = (row) => chart.hidden.has(String(row[chart.series])) || shared.hidden.has(String(row[shared.column]));
    spec.datasets = { frame: [...records(panel.data), ...panel.rules].filter((row) => !isHidden(row)) };
    // Vega warns of layers without data.
    const shown = panel.rules.some((row) => !isHidden(row));
    if (!shown) spec.layer = spec.layer.filter((layer) => !String(layer.mark.style).startsWith("rule"));
    // A logarithm has no place for 0.
    for (const row of spec.datasets.frame) {
      for (const column of chart.logs) if (row[column] <= 0) row[column] = null;
    }
    if (chart.hasToggles || chart.panels.length > 1) {
      // The toggles are the legend.
      walk(spec.layer, (part) => {
        for (const channel of ["color", "strokeDash", "shape"]) {
          if (part.encoding?.[channel]?.field === chart.series) part.encoding[channel].legend = null;
        }
      });
    }
    if (chart.zoom) {
      const [from, to] = chart.extent;
      const domain = chart.zoom.map((share) => from + share * (to - from));
      walk(spec, (part) => {
        if (part.encoding && part.encoding.x) {
          part.encoding.x.scale = { ...part.encoding.x.scale, domain, nice: false };
          if (part.mark && typeof part.mark === "object") part.mark.clip = true;
        }
      });
    }
    return spec;
  }

  const options = (name) => ({ config: configs[name], renderer: "svg", actions: false, tooltip: { theme: name } });

  async function draw(chart) {
    for (const [at, panel] of chart.panels.entries()) {
      chart.views?.[at]?.finalize();
      const isEmpty = chart.panels.length > 1 && shared.hidden.has(panel.title);
      chart.drawings[at].closest(".panel").hidden = isEmpty;
      if (isEmpty) continue;
      const result = await vegaEmbed(chart.drawings[at], specification(chart, panel), options(theme()));
      (chart.views ??= [])[at] = result;
      // There is a text for the whole; what Vega says of its parts would be read out mark by mark.
      chart.drawings[at].setAttribute("aria-hidden", "true");
    }
  }

  let drawing = Promise.resolve();
  function drawAll(some = charts) {
    drawing = drawing.then(async () => {
      for (const chart of some) await draw(chart);
      document.documentElement.dataset.drawn = theme();
    });
    return drawing;
  }

  // ---- controls ----

  function button(text, act, about) {
    const made = document.createElement("button");
    made.type = "button";
    made.textContent = text;
    if (about) made.setAttribute("aria-label", about);
    made.addEventListener("click", () => act(made));
    return made;
  }

  // Of a marker in the middle of a swatch.
  const shapes = {
    circle: "M11 1.5a3.5 3.5 0 1 0 .01 0Z",
    square: "M7.5 1.5h7v7h-7Z",
    cross: "M9.5 1h3v2.5H15v3h-2.5V9h-3V6.5H7v-3h2.5Z",
    "triangle-up": "M11 1L15 9H7Z",
    "triangle-down": "M11 9L15 1H7Z",
    "triangle-right": "M15 5L7 1V9Z",
    "triangle-left": "M7 5L15 1V9Z",
  };

  // How a chart draws the value at this place of its series.
  function swatch(chart, at) {
    const range = (channel) => {
      let found = null;
      walk(chart.spec, (part) => { found ??= part.encoding?.[channel]?.scale?.range ?? null; });
      return found ? found[at % found.length] : null;
    };
    const color = `var(--series-${at % configs.light.range.category.length})`;
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    svg.setAttribute("aria-hidden", "true");
    svg.setAttribute("viewBox", "0 0 22 10");
    const isLine = chart.mark === "line" || chart.mark === "steps";
    const dash = range("strokeDash");
    const line = `<path d="M0 5H22" style="stroke:${color}" stroke-width="2" stroke-dasharray="${dash ?? "none"}"/>`;
    const marker = `<path d="${shapes[range("shape")] ?? "M6 0h10v10h-10Z"}" style="fill:${color}"/>`;
    svg.innerHTML = isLine ? line + marker : marker;
    return svg;
  }

  const isOfBars = (chart) => chart.mark === "stack" || chart.mark === "bars";

  function toggles(label, chart, values, hidden, redraw, isNumbered) {
    const group = document.createElement("div");
    group.className = "toggles";
    group.setAttribute("role", "group");
    group.setAttribute("aria-label", label);
    for (const [at, value] of values.entries()) {
      const toggle = button(isNumbered ? `${at + 1} ${value}` : value, () => {
        const isShown = hidden.delete(value);
        if (!isShown) hidden.add(value);
        toggle.setAttribute("aria-pressed", String(isShown));
        redraw();
      });
      toggle.setAttribute("aria-pressed", "true");
      toggle.prepend(swatch(chart, at));
      group.append(toggle);
    }
    return group;
  }

  function zoomed([from, to], factor, shift) {
    const width = Math.min(1, (to - from) * factor);
    const middle = (from + to) / 2 + shift * (to - from);
    const start = Math.min(Math.max(0, middle - width / 2), 1 - width);
    return width >= 1 ? null : [start, start + width];
  }

  function zooms(chart, title) {
    const group = document.createElement("div");
    group.className = "zooms";
    group.setAttribute("role", "group");
    group.setAttribute("aria-label", `Zoom of ${title}`);
    const by = (factor, shift) => () => {
      chart.zoom = zoomed(chart.zoom ?? [0, 1], factor, shift);
      drawAll([chart]);
    };
    group.append(
      button("+", by(0.5, 0), "Zoom in"),
      button("−", by(2, 0), "Zoom out"),
      button("←", by(1, -0.25), "Move left"),
      button("→", by(1, 0.25), "Move right"),
      button("Reset", by(Infinity, 0), "Reset the zoom"),
    );
    return group;
  }

  function addTools() {
    for (const chart of charts) {
      const title = chart.figure.querySelector("h3").textContent;
      const tools = chart.figure.querySelector(".tools");
      chart.hasToggles = chart.values.length > 1 && chart.series !== shared.column;
      if (chart.hasToggles) {
        tools.append(toggles(`Series of ${title}`, chart, chart.values, chart.hidden, () => drawAll([chart]), isOfBars(chart)));
      }
      if (chart.extent) tools.append(zooms(chart, title));
      tools.hidden = tools.childElementCount === 0;
    }
    const sharing = charts.filter((chart) => chart.series === shared.column);
    const most = sharing.reduce((one, other) => (other.values.length > one.values.length ? other : one), sharing[0]);
    if (shared.column !== null && most.values.length > 1) {
      const bar = document.getElementById("shared");
      const label = `Shown in all charts, by ${shared.column}`;
      bar.append(toggles(label, most, most.values, shared.hidden, () => drawAll(), sharing.some(isOfBars)));
      bar.hidden = false;
    }
    choice.addEventListener("change", setTheme);
    system.addEventListener("change", setTheme);
    for (const copy of document.querySelectorAll("button.copy")) {
      copy.addEventListener("click", async () => {
        await navigator.clipboard.writeText(copy.previousElementSibling.textContent);
        copy.textContent = "Copied";
      });
    }
  }

  function setColors(name) {
    configs[name].range.category.forEach((color, at) => {
      document.documentElement.style.setProperty(`--series-${at}`, color);
    });
    document.documentElement.dataset.theme = name;
  }

  function setTheme() {
    setColors(theme());
    return drawAll();
  }

  // ---- data ----

  const quoted = (value) => (/[",\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);

  function csv(chart) {
    const lines = chart.panels.flatMap(({ data }) =>
      records(data).map((row) => chart.columns.map((column) => quoted(String(row[column] ?? ""))).join(",")),
    );
    return [chart.columns.map(quoted).join(","), ...lines].join("\n") + "\n";
  }

  for (const chart of charts) {
    const link = chart.figure.querySelector("a.download");
    chart.figure.querySelector("details").addEventListener("toggle", () => {
      if (!link.href.startsWith("data:")) link.href = "data:text/csv;charset=utf-8," + encodeURIComponent(csv(chart));
    });
  }

  // ---- print: all of it, in the light theme, drawn before the browser goes on ----

  const printed = new Map(); // from the colors of the dark theme to those of the light one
  (function pair(dark, light) {
    if (typeof dark === "string") printed.set(dark, light);
    else if (dark && typeof dark === "object") Object.keys(dark).forEach((key) => pair(dark[key], light[key]));
  })(configs.dark, configs.light);

  let folded = [];
  addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll("details.folded:not([open])")];
    folded.forEach((details) => { details.open = true; });
    if (theme() === "light") return;
    setColors("light");
    for (const element of charts.flatMap((chart) => chart.drawings)) {
      element.innerHTML = element.innerHTML.replace(/#[0-9a-f]{6}\b/gi, (color) => printed.get(color) ?? color);
    }
  });
  addEventListener("afterprint", () => {
    folded.forEach((details) => { details.open = false; });
    if (theme() === "dark") setTheme();
  });

  // ---- tables with columns beyond the right edge ----

  for (const region of document.querySelectorAll(".scroll")) {
    const mark = () => {
      region.classList.toggle("more", region.scrollLeft + region.clientWidth < region.scrollWidth - 1);
    };
    region.addEventListener("scroll", mark, { passive: true });
    new ResizeObserver(mark).observe(region);
  }

  addTools();
  setTheme();
})();
