// @ts-check
'use strict';
// The heat map of cores (or NUMA nodes): a line each, the darker the busier.

class Heat extends Strip {
  /** @param {View} view @param {HTMLElement} host @param {NonNullable<RunData['heat']>} heat @param {number[]} milliseconds */
  constructor(view, host, heat, milliseconds) {
    super(view);
    this.names = heat.names;
    this.kind = heat.kind;
    this.rows = heat.rows.map(bytesOf);
    this.times = endsOf(milliseconds);
    this.row = this.rows.length > 64 ? 4 : this.rows.length > 16 ? 8 : 16;
    this.height = this.rows.length * this.row + 20;
    this.card = make('div', 'chart');
    this.card.dataset.chart = 'heat';
    this.card.append(make('h3', '', heat.kind === 'node' ? 'NUMA nodes' : 'Cores of the machine'));
    const legend = make('div', 'legend words'), scale = make('span', 'ramp');
    for (const share of [0, .25, .5, .75, 1]) {
      const swatch = make('i');
      swatch.style.background = 'color-mix(in srgb, var(--hot) ' + share * 100 + '%, var(--card))';
      scale.append(swatch);
    }
    legend.append('idle ', scale, ' busy');
    this.plot.style.height = this.height + 'px';
    const { canvas, cursor, tip, mark } = layersOf(this.plot, this.inWords());
    this.canvas = canvas;
    this.cursor = cursor;
    this.tip = tip;
    this.card.append(legend, this.plot);
    host.append(this.card);
    this.under = 0;
    this.plot.addEventListener('pointermove', event => this.under = Math.floor((event.clientY - this.plot.getBoundingClientRect().top) / this.row), true);
    this.shown(mark);
  }

  inWords() {
    const busy = this.rows.map(row => {
      let sum = 0, count = 0;
      for (const share of row) if (share !== 255) sum += share, count++;
      return count ? sum / count / 2 : 0;
    });
    return 'Use of each ' + this.kind + ' over time. On average: ' + busy.slice(0, 64).map((share, i) => this.names[i] + ' ' + Math.round(share) + ' %').join(', ');
  }

  draw() {
    const context = paperOf(this.canvas, this.width, this.height);
    if (!context) return;
    context.font = '10px system-ui, sans-serif';
    const right = this.width - RIGHT, first = indexAt(this.times, this.view.from), last = Math.min(this.times.length - 1, indexAt(this.times, this.view.to));
    context.fillStyle = colour('hot');
    this.rows.forEach((row, n) => {
      for (let i = first; i <= last; i++) {
        if (row[i] === 255 || row[i] === 0) continue;
        const a = Math.max(LEFT, this.x(i ? this.times[i - 1] : 0)), b = Math.min(right, this.x(this.times[i]));
        context.globalAlpha = row[i] / 200;
        context.fillRect(a, n * this.row, Math.max(.5, b - a), this.row - (this.row > 4 ? 1 : 0));
      }
    });
    context.globalAlpha = 1;
    context.fillStyle = colour('soft');
    context.textAlign = 'right';
    const every = this.row >= 12 ? 1 : this.row >= 8 ? 2 : 4;
    this.names.forEach((name, n) => { if (n % every === 0) context.fillText(this.kind + ' ' + name, LEFT - 6, Math.max(8, n * this.row + Math.min(this.row, 10))); });
    const ticks = timeStep(this.view.to - this.view.from, Math.max(2, Math.floor(this.width / 90)));
    for (let at = Math.ceil(this.view.from / ticks) * ticks; at <= this.view.to * 1.0000001; at += ticks) {
      const x = this.x(at);
      context.textAlign = x < LEFT + 20 ? 'left' : x > right - 20 ? 'right' : 'center';
      context.fillText(moment(at, ticks), x, this.height - 5);
    }
  }

  /** @param {number | null} at */
  point(at) {
    const outside = at === null || at < this.view.from || at > this.view.to;
    this.cursor.hidden = outside;
    const hovered = this.plot.matches(':hover') && this.under >= 0 && this.under < this.rows.length;
    this.tip.hidden = outside || !hovered;
    if (outside) return;
    const time = /** @type {number} */ (at), x = this.x(time);
    this.cursor.style.left = x + 'px';
    if (!hovered) return;
    const i = indexAt(this.times, time), share = this.rows[this.under][i];
    this.tip.textContent = this.kind + ' ' + this.names[this.under] + ' · ' + moment(time, this.view.pixel(this.width)) + ' · ' + (share === undefined || share === 255 ? '–' : share / 2 + ' %');
    this.tip.style.left = (x > this.width / 2 ? Math.max(2, x - this.tip.offsetWidth - 10) : x + 10) + 'px';
  }
}
