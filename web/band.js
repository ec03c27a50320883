// @ts-check
'use strict';
// A band above the charts: what limited the run, stretch by stretch, each class in its own colour on every page. Not there where
// nobody told.

const BAND_HEIGHT = 26, PHASES_HEIGHT = 20;

class Band extends Strip {
  /** @param {View} view @param {HTMLElement} host @param {NonNullable<RunData['band']>} band @param {RunData['phases']} phases */
  constructor(view, host, band, phases) {
    super(view);
    this.band = band;
    this.phases = phases.filter(([, , , verdict]) => verdict);
    this.height = BAND_HEIGHT + (this.phases.length ? PHASES_HEIGHT : 0);
    this.card = make('div', 'chart');
    this.card.append(make('h3', '', 'What limited it'));
    const legend = make('div', 'legend words');
    for (const word of band.words) {
      const entry = make('span'), swatch = make('i');
      swatch.style.background = 'var(--band-' + word + ')';
      entry.append(swatch, word.replace(/_/g, ' '));
      legend.append(entry);
    }
    this.plot.className = 'plot low';
    this.plot.style.height = this.height + 'px';
    const { canvas, cursor, mark } = layersOf(this.plot, 'What limited the run over time: ' + band.words.join(', ') +
      this.phases.slice(0, 20).map(([name, , , verdict]) => '; phase ' + name + ': ' + verdict).join(''));
    this.canvas = canvas;
    this.cursor = cursor;
    this.card.append(legend, this.plot);
    host.append(this.card);
    this.shown(mark);
  }

  draw() {
    const context = paperOf(this.canvas, this.width, this.height);
    if (!context) return;
    let from = 0;
    for (const [to, word] of this.band.pieces) {
      const a = Math.max(LEFT, this.x(from)), b = Math.min(this.width - RIGHT, this.x(to));
      from = to;
      if (word < 0 || !(b > a)) continue;
      context.fillStyle = colour('band-' + this.band.words[word]);
      context.fillRect(a, 4, b - a, BAND_HEIGHT - 8);
    }
    this.drawPhases(context);
  }

  // Below the classes: each phase, and what limited it.
  /** @param {CanvasRenderingContext2D} context */
  drawPhases(context) {
    context.font = '11.5px system-ui, sans-serif';
    context.textBaseline = 'middle';
    for (const [name, from, to, verdict] of this.phases) {
      const a = Math.max(LEFT, this.x(from)), b = Math.min(this.width - RIGHT, this.x(to));
      if (!(b > a)) continue;
      context.save();
      context.beginPath();
      context.rect(a, BAND_HEIGHT - 2, b - a, PHASES_HEIGHT - 2);
      context.strokeStyle = colour('line');
      context.stroke();
      context.clip();
      context.fillStyle = colour('ink');
      if (b - a > 24) context.fillText(cut(context, name + ': ' + verdict, b - a - 8), a + 5, BAND_HEIGHT + PHASES_HEIGHT / 2 - 3);
      context.restore();
    }
  }

  /** @param {number | null} at */
  point(at) {
    this.cursor.hidden = at === null || at < this.view.from || at > this.view.to;
    if (at === null) return;
    this.cursor.style.left = this.x(at) + 'px';
    const piece = this.band.pieces.find(([to]) => at <= to);
    const phase = this.phases.find(([, from, to]) => at >= from && at < to);
    this.plot.title = (piece && piece[1] >= 0 ? this.band.words[piece[1]].replace(/_/g, ' ') : '') + (phase ? '\nphase ' + phase[0] + ': ' + phase[3] : '');
  }
}
