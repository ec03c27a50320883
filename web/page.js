// @ts-check
'use strict';
// Puts the page together from the data that it holds.

/** @param {PackedChart} chart @param {Float64Array} times @param {RunData} run @param {number[]} milliseconds */
function ownChart(chart, times, run, milliseconds) {
  return { id: chart.id, title: chart.title, unit: chart.unit, empty: chart.empty, limits: chart.limits, run, lines: chart.lines.map(line => lineOf(line, times, milliseconds, 0)) };
}

// The same chart of every run that has it, aligned at the start, each run in its colour; only what the job did.
/** @param {RunData[]} runs */
function overlaidCharts(runs) {
  /** @type {Map<string, {id: string, title: string, unit: string, empty: string, limits: {value: number, name: string}[], run: null, lines: Line[]}>} */
  const charts = new Map();
  runs.forEach((run, number) => {
    const times = endsOf(run.point_ms);
    for (const chart of run.charts) {
      const own = chart.lines.filter(line => !line.role.startsWith('machine') && line.name !== 'container');
      const lines = own.length ? own : chart.lines;
      let spec = charts.get(chart.id);
      if (!spec) charts.set(chart.id, spec = { id: chart.id, title: chart.title, unit: chart.unit, empty: chart.empty, limits: [], run: null, lines: [] });
      lines.forEach((packed, i) => {
        const line = lineOf(packed, times, run.point_ms, number);
        line.role = 'run' + number % 8;
        line.dash = i % DASHES.length;
        line.name = run.id + (lines.length > 1 ? ' ' + packed.name : '');
        /** @type {NonNullable<typeof spec>} */ (spec).lines.push(line);
      });
      for (const limit of chart.limits)
        if (!spec.limits.some(one => one.value === limit.value)) spec.limits.push(limit);
    }
  });
  return [...charts.values()];
}

/** @param {View} view @param {RunData} run @param {HTMLElement} section */
function fillSection(view, run, section) {
  const part = (/** @type {string} */ name) => /** @type {HTMLElement | null} */ (section.querySelector(name));
  const band = part('.band'), own = part('.own'), heat = part('.heat'), devices = part('.devices'), processes = part('.processes');
  if (band && run.band) new Band(view, band, run.band, run.phases);
  const times = endsOf(run.point_ms);
  if (own) for (const chart of run.charts) new Chart(view, own, ownChart(chart, times, run, run.point_ms));
  if (own && !run.charts.length) own.append(make('p', 'where', 'There are no rows to draw.'));
  if (heat && run.heat && run.device_ms) new Heat(view, heat, run.heat, run.device_ms);
  if (devices && run.devices && run.device_ms) {
    const ends = endsOf(run.device_ms);
    for (const chart of run.devices) new Chart(view, devices, ownChart(chart, ends, run, run.device_ms));
    if (run.devices_left_out) devices.append(make('p', 'where', run.devices_left_out + ' more devices did less and have no chart; their statistics are below.'));
  }
  if (processes && run.processes.length) new Processes(view, processes, run);
}

// On paper nothing can be unfolded: all is, but for the long tables.
function followPrinting() {
  /** @type {HTMLDetailsElement[]} */
  let opened = [];
  window.addEventListener('beforeprint', () => {
    opened = [.../** @type {NodeListOf<HTMLDetailsElement>} */ (document.querySelectorAll('details:not([open])'))].filter(one => !one.querySelector('table'));
    for (const one of opened) one.open = true;
  });
  window.addEventListener('afterprint', () => { for (const one of opened) one.open = false; });
}

function start() {
  const text = document.getElementById('data');
  /** @type {{runs: RunData[]}} */
  const data = JSON.parse(text ? text.textContent || '{"runs":[]}' : '{"runs":[]}');
  const lasted = data.runs.map(run => Math.max(run.seconds || 0, ...[run.point_ms, run.device_ms || []].map(ms => ms.reduce((a, b) => a + b, 0) / 1000)));
  const view = new View(Math.max(0, ...lasted), Math.max(0, ...data.runs.map(run => run.lasted || 0)));
  const overlaid = /** @type {HTMLElement | null} */ (document.querySelector('.overlaid'));
  if (overlaid) for (const spec of overlaidCharts(data.runs)) new Chart(view, overlaid, spec);
  for (const section of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll('.run')))
    fillSection(view, data.runs[Number(section.dataset.run)], section);
  followKeys(view);
  followDownloads(data.runs);
  view.redraw();
  const again = () => { colours.clear(); view.redrawAll(); };
  for (const query of ['(prefers-color-scheme: dark)', 'print']) window.matchMedia(query).addEventListener('change', again);
  for (const event of ['beforeprint', 'afterprint']) window.addEventListener(event, again);
  followPrinting();
  let width = 0;
  new ResizeObserver(() => {
    if (document.body.clientWidth === width) return;
    width = document.body.clientWidth;
    view.later();
  }).observe(document.body);
  document.documentElement.dataset.ready = String(Math.round(performance.now()));
}

start();
