// @ts-check
'use strict';
// A band above the charts: what limited the run, stretch by stretch. Not there where nobody told.

const BAND_HEIGHT = 26;

class Band {
  /** @param {View} view @param {HTMLElement} host @param {NonNullable<RunData['band']>} band */
  constructor(view, host, band) {
    this.view = view;
    this.band = band;
    this.card = make('div', 'chart');
    this.card.append(make('h3', '', 'What limited it'));
    const legend = make('div', 'legend words');
    band.words.forEach((word, i) => {
      const entry = make('span'), swatch = make('i');
      swatch.style.background = 'var(--band' + i % 8 + ')';
      entry.append(swatch, word.replace(/_/g, ' '));
      legend.append(entry);
    });
    this.plot = make('div', 'plot low');
    this.canvas = make('canvas');
    this.canvas.setAttribute('role', 'img');
    this.canvas.setAttribute('aria-label', 'What limited the run over time: ' + band.words.join(', '));
    this.cursor = make('div', 'cursor');
    const mark = make('div', 'selection');
    this.cursor.hidden = mark.hidden = true;
    this.plot.append(this.canvas, mark, this.cursor);
    this.card.append(legend, this.plot);
    host.append(this.card);
    this.width = 600;
    followPointer(view, this.plot, () => [LEFT, this.width - LEFT - RIGHT], mark);
    view.drawn.push(this);
  }

  /** @param {number} at */
  x(at) { return LEFT + (this.width - LEFT - RIGHT) * (at - this.view.from) / (this.view.to - this.view.from); }

  measure() {
    const [width, inSight] = placeOf(this.plot);
    this.width = width;
    return inSight;
  }

  draw() {
    const ratio = window.devicePixelRatio || 1, context = this.canvas.getContext('2d');
    this.canvas.width = Math.round(this.width * ratio);
    this.canvas.height = Math.round(BAND_HEIGHT * ratio);
    if (!context) return;
    context.scale(ratio, ratio);
    let from = 0;
    for (const [to, word] of this.band.pieces) {
      const a = Math.max(LEFT, this.x(from)), b = Math.min(this.width - RIGHT, this.x(to));
      from = to;
      if (word < 0 || !(b > a)) continue;
      context.fillStyle = colour('band' + word % 8);
      context.fillRect(a, 4, b - a, BAND_HEIGHT - 8);
    }
  }

  /** @param {number | null} at */
  point(at) {
    this.cursor.hidden = at === null || at < this.view.from || at > this.view.to;
    if (at === null) return;
    this.cursor.style.left = this.x(at) + 'px';
    const piece = this.band.pieces.find(([to]) => at <= to);
    this.plot.title = piece && piece[1] >= 0 ? this.band.words[piece[1]].replace(/_/g, ' ') : '';
  }
}
