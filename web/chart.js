// @ts-check
'use strict';
// One chart: lines over time on a canvas, with limits, phases, points and events, a legend that hides lines and a
// crosshair with values.

const LEFT = 62, RIGHT = 10, TOP = 24, BOTTOM = 20, HEIGHT = 202;
// Lines of one run over another have its colour; these tell them apart, in the legend too.
const DASHES = [[], [5, 3], [2, 2], [9, 2]];

/** @type {Map<string, string>} */
const colours = new Map();

// The colour of a role in the theme that is on; forgotten when that changes.
/** @param {string} role */
function colour(role) {
  let found = colours.get(role);
  if (found === undefined) colours.set(role, found = getComputedStyle(document.documentElement).getPropertyValue('--' + role).trim() || '#888');
  return found;
}

/** @param {Float64Array} times @param {number} at the first that is not before it */
function indexAt(times, at) {
  let low = 0, high = times.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle] < at) low = middle + 1; else high = middle;
  }
  return low;
}

/** @param {PackedLine} line @param {Float64Array} times @param {number[]} milliseconds @param {number} run @returns {Line} */
function lineOf(line, times, milliseconds, run) {
  const mean = /** @type {Float64Array} */ (unpack(line.mean, line));
  return { name: line.name, role: line.role, run, dash: 0, mean, min: unpack(line.min, line), max: unpack(line.max, line), times, steps: Float64Array.from(milliseconds, ms => ms / 1000), hidden: false };
}

// A stretch so much longer than the others has no rows in it: the line is not drawn through.
/** @param {Float64Array} steps */
function longestStep(steps) {
  const sorted = Float64Array.from(steps).sort();
  return Math.max(8 * (sorted[sorted.length >> 1] || 0), 3);
}

// As much of a text as there is room for.
/** @param {CanvasRenderingContext2D} context @param {string} text @param {number} room */
function cut(context, text, room) {
  if (context.measureText(text).width <= room) return text;
  const letters = [...text];
  let fits = 0, most = letters.length;
  while (fits < most) {
    const middle = (fits + most + 1) >> 1;
    if (context.measureText(letters.slice(0, middle).join('') + '…').width <= room) fits = middle; else most = middle - 1;
  }
  return letters.slice(0, fits).join('') + '…';
}

class Chart extends Strip {
  /**
   * @param {View} view @param {HTMLElement} host
   * @param {{title: string, unit: string, empty: string, limits: {value: number, name: string}[], lines: Line[], run: RunData | null, id: string}} spec
   */
  constructor(view, host, spec) {
    super(view);
    this.spec = spec;
    this.gaps = new Map(spec.lines.map(line => [line.steps, longestStep(line.steps)]));
    this.card = make('div', 'chart');
    this.card.dataset.chart = spec.id;
    this.card.append(make('h3', '', this.heading()), this.legend());
    const { canvas, cursor, tip, mark } = layersOf(this.plot, this.inWords());
    this.canvas = canvas;
    this.cursor = cursor;
    this.tip = tip;
    this.card.append(this.plot);
    host.append(this.card);
    this.top = 1;
    this.shown(mark);
  }

  heading() {
    const { title, unit } = this.spec;
    return title + (unit.endsWith('/s') ? ', per second' : unit && unit !== 'bytes' && !title.startsWith(unit) ? ', ' + unit : '');
  }

  legend() {
    const legend = make('div', 'legend');
    for (const line of this.spec.lines) {
      const button = make('button'), swatch = make('i');
      button.type = 'button';
      const tint = 'var(--' + line.role + ')';
      const [on, off] = DASHES[line.dash];
      swatch.style.background = on ? `repeating-linear-gradient(90deg, ${tint} 0 ${on}px, transparent ${on}px ${on + off}px)` : tint;
      button.setAttribute('aria-pressed', 'true');
      button.append(swatch, line.name);
      button.addEventListener('click', () => {
        line.hidden = !line.hidden;
        button.setAttribute('aria-pressed', String(!line.hidden));
        this.draw();
      });
      legend.append(button);
    }
    return legend;
  }

  // For who cannot see it.
  inWords() {
    const parts = this.spec.lines.map(line => {
      let most = NaN, at = 0;
      (line.max || line.mean).forEach((value, i) => { if (!(most >= value) && !Number.isNaN(value)) most = value, at = line.times[i]; });
      return line.name + (Number.isNaN(most) ? ' has no values' : ' at most ' + shown(most, line.role === 'share' ? '%' : this.spec.unit) + ' at ' + duration(at));
    });
    for (const limit of this.spec.limits) parts.push(limit.name + ' ' + shown(limit.value, this.spec.unit));
    return this.spec.title + ' over time: ' + parts.join('; ');
  }

  /** @param {number} value */
  y(value) { return HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * value / this.top; }

  // A dot at the edge is seen whole.
  /** @param {number} x */
  wholeDot(x) {
    const right = this.width - RIGHT;
    return x > right - 3 && x <= right + 1 ? right - 3 : x < LEFT + 3 && x >= LEFT - 1 ? LEFT + 3 : x;
  }

  // The highest value in sight of those lines.
  /** @param {Line[]} lines */
  highest(lines) {
    let most = 0;
    for (const line of lines) {
      const values = line.max || line.mean, end = Math.min(values.length - 1, indexAt(line.times, this.view.to));
      for (let i = indexAt(line.times, this.view.from); i <= end; i++) if (values[i] > most) most = values[i];
    }
    return most;
  }

  // The job decides the scale, the machine around it only where nothing of the job is to be seen.
  scale() {
    const seen = this.spec.lines.filter(line => !line.hidden && line.role !== 'share');
    const own = seen.filter(line => !line.role.startsWith('machine'));
    let most = this.highest(own);
    if (!most) most = this.highest(seen);
    this.inSight = this.spec.limits.filter(limit => most > limit.value * .2);
    for (const limit of this.inSight) most = Math.max(most, limit.value);
    this.top = most ? most * 1.06 : this.spec.unit === '%' ? 100 : this.spec.unit.startsWith('bytes') ? 1024 : 1;
  }

  draw() {
    const context = paperOf(this.canvas, this.width, HEIGHT);
    if (!context) return;
    context.font = '11px system-ui, sans-serif';
    this.scale();
    this.drawPhases(context);
    this.drawGrid(context);
    context.save();
    context.beginPath();
    context.rect(LEFT, TOP - 2, this.width - LEFT - RIGHT, HEIGHT - TOP - BOTTOM + 4);
    context.clip();
    for (const line of this.spec.lines) if (!line.hidden) this.drawLine(context, line);
    context.restore();
    this.drawLimits(context);
    this.drawEvents(context);
    this.drawEmpty(context);
  }

  /** @param {CanvasRenderingContext2D} context */
  drawGrid(context) {
    const { from, to } = this.view, right = this.width - RIGHT, step = niceStep(this.top, this.spec.unit, 4);
    context.strokeStyle = colour('line');
    context.fillStyle = colour('soft');
    context.textAlign = 'right';
    context.beginPath();
    for (let value = 0; value <= this.top * 1.0001; value += step) {
      const y = Math.round(this.y(value)) + .5;
      context.moveTo(LEFT, y);
      context.lineTo(right, y);
      context.fillText(this.spec.unit.startsWith('bytes') ? bytesOnAxis(value, this.top) : shown(value, this.spec.unit, true), LEFT - 7, y + 3.5);
    }
    context.stroke();
    const ticks = timeStep(to - from, Math.max(2, Math.floor(this.width / 90)));
    for (let at = Math.ceil(from / ticks) * ticks; at <= to * 1.0000001; at += ticks) {
      const x = this.x(at);
      context.textAlign = x < LEFT + 20 ? 'left' : x > right - 20 ? 'right' : 'center';
      context.fillText(moment(at, ticks), x, HEIGHT - 5);
    }
  }

  /** @param {CanvasRenderingContext2D} context @param {Line} line */
  drawLine(context, line) {
    const { from, to } = this.view, { times, steps, mean, min, max } = line;
    const share = line.role === 'share', y = (/** @type {number} */ v) => share ? HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * v / 100 : this.y(v);
    const first = Math.max(0, indexAt(times, from) - 1), last = Math.min(times.length - 1, indexAt(times, to) + 1);
    const gap = this.gaps.get(line.steps) || Infinity, tint = colour(line.role), behind = line.role.startsWith('machine');
    context.strokeStyle = context.fillStyle = tint;
    context.lineWidth = behind || share ? 1.2 : 1.8;
    context.lineJoin = 'round';
    context.setLineDash(DASHES[line.dash]);
    for (let i = first; i <= last;) {
      if (Number.isNaN(mean[i])) { i++; continue; }
      let end = i;
      while (end < last && !Number.isNaN(mean[end + 1]) && steps[end + 1] <= gap) end++;
      if (min && max) {
        context.globalAlpha = .22;
        context.beginPath();
        for (let k = i; k <= end; k++) context.lineTo(this.x(times[k]), y(max[k]));
        for (let k = end; k >= i; k--) context.lineTo(this.x(times[k]), y(min[k]));
        context.fill();
        // The upper edge is a line of its own: a peak of one row is never too thin to be seen.
        context.globalAlpha = .5;
        context.lineWidth = 1;
        context.beginPath();
        for (let k = i; k <= end; k++) context.lineTo(this.x(times[k]), y(max[k]));
        context.stroke();
        context.lineWidth = behind || share ? 1.2 : 1.8;
      }
      const start = steps[i] <= gap ? times[i] - steps[i] : times[i];
      if (this.spec.run && !behind && !share && end > i) {  // of several runs areas would only hide each other
        context.globalAlpha = .1;
        context.beginPath();
        context.moveTo(this.x(start), y(0));
        context.lineTo(this.x(start), y(mean[i]));
        for (let k = i; k <= end; k++) context.lineTo(this.x(times[k]), y(mean[k]));
        context.lineTo(this.x(times[end]), y(0));
        context.fill();
      }
      context.globalAlpha = share ? .6 : 1;
      context.beginPath();
      if (end === i) context.arc(this.wholeDot(this.x(times[i])), y(mean[i]), 3, 0, 7), context.fill();  // one sample is a point
      else {
        context.moveTo(this.x(start), y(mean[i]));
        for (let k = i; k <= end; k++) context.lineTo(this.x(times[k]), y(mean[k]));
        context.stroke();
      }
      i = end + 1;
    }
    context.globalAlpha = 1;
    context.setLineDash([]);
  }

  // Text over lines, readable by the edge around it.
  /** @param {CanvasRenderingContext2D} context @param {string} text @param {number} x @param {number} y */
  note(context, text, x, y) {
    context.save();
    context.strokeStyle = colour('card');
    context.lineWidth = 3;
    context.setLineDash([]);
    context.strokeText(text, x, y);
    context.restore();
    context.fillText(text, x, y);
  }

  /** @param {CanvasRenderingContext2D} context */
  drawLimits(context) {
    const right = this.width - RIGHT;
    context.font = '11px system-ui, sans-serif';
    context.fillStyle = context.strokeStyle = colour('bad');
    context.textAlign = 'right';
    for (const limit of this.spec.limits) {
      const text = limit.name + ' ' + shown(limit.value, this.spec.unit);
      if (!this.inSight || !this.inSight.includes(limit)) {
        this.note(context, 'above: ' + text + ' ↑', right - 3, TOP + 4);  // above the highest line
        continue;
      }
      const y = Math.round(this.y(limit.value)) + .5;
      context.setLineDash([6, 4]);
      context.beginPath();
      context.moveTo(LEFT, y);
      context.lineTo(right, y);
      context.stroke();
      context.setLineDash([]);
      this.note(context, text, right - 3, y + 13);
    }
  }

  /** @param {CanvasRenderingContext2D} context */
  drawPhases(context) {
    if (!this.spec.run) return;
    const right = this.width - RIGHT;
    this.spec.run.phases.forEach(([name, from, to], i) => {
      const a = Math.max(LEFT, this.x(from)), b = Math.min(right, this.x(to));
      if (!(b > a)) return;
      context.fillStyle = colour(i % 2 ? 'phase2' : 'phase');
      context.fillRect(a, TOP, b - a, HEIGHT - TOP - BOTTOM);
      if (b - a < 24) return;
      context.save();
      context.beginPath();
      context.rect(a, 0, b - a - 2, TOP);
      context.clip();
      context.fillStyle = colour('soft');
      context.textAlign = 'left';
      context.fillText(cut(context, name, b - a - 5), a + 3, TOP - 10);
      context.restore();
    });
  }

  /** @param {CanvasRenderingContext2D} context */
  drawEvents(context) {
    const run = this.spec.run, right = this.width - RIGHT;
    if (!run) return;
    /** @type {Map<string, number>} */
    const taken = new Map();  // to where words stand, on the line of each role
    const upright = (/** @type {number} */ at, /** @type {string} */ role, /** @type {string} */ text) => {
      const x = this.x(at);
      if (x < LEFT - 1 || x > right + 1) return;
      context.strokeStyle = context.fillStyle = colour(role);
      context.setLineDash([2, 2]);
      context.beginPath();
      context.moveTo(x, TOP);
      context.lineTo(x, HEIGHT - BOTTOM);
      context.stroke();
      context.setLineDash([]);
      context.beginPath();
      context.moveTo(x - 4, TOP - 5);
      context.lineTo(x + 4, TOP - 5);
      context.lineTo(x, TOP + 2);
      context.fill();
      if (!text) return;
      const room = context.measureText(text).width, begin = x + 5 + room > right ? x - 5 - room : x + 5;
      if (begin < (taken.get(role) ?? -Infinity)) return;  // the tip has its name
      taken.set(role, begin + room + 6);
      context.textAlign = 'left';
      this.note(context, text, begin, HEIGHT - BOTTOM - (role === 'bad' ? 19 : 5));
    };
    const few = run.points.filter(([, at]) => at >= this.view.from && at <= this.view.to).length <= 4;
    for (const [name, at] of run.points) upright(at, 'soft', few ? name : '');
    if (this.spec.id === 'cpu') {
      context.fillStyle = colour('bad');
      for (const [from, to] of run.throttled) {
        const a = Math.max(LEFT, this.x(from)), b = Math.min(right, this.x(to));
        if (b > a) context.fillRect(a, HEIGHT - BOTTOM, Math.max(2, b - a), 4);
      }
    }
    if (this.spec.id === 'cpu' || this.spec.id === 'memory') {
      for (const [at, kills] of run.oom) upright(at, 'bad', kills > 1 ? kills + ' OOM kills' : 'OOM kill');
      if (run.oom_killed && !run.oom.length && run.seconds !== null) upright(run.seconds, 'bad', 'OOM kill');
    }
  }

  // A flat line at 0 tells nothing: the word does.
  /** @param {CanvasRenderingContext2D} context */
  drawEmpty(context) {
    const zero = (/** @type {Line} */ line) => (line.max || line.mean).every(value => !(value > 0));
    const own = this.spec.lines.filter(line => !line.role.startsWith('machine'));
    if (!this.spec.empty || !own.every(zero)) return;
    const rest = this.spec.lines.length > own.length && !this.spec.lines.every(zero);
    context.fillStyle = colour('soft');
    context.textAlign = 'center';
    context.font = '14px system-ui, sans-serif';
    this.note(context, this.spec.empty + (rest ? ' of the job' : ''), (LEFT + this.width - RIGHT) / 2, (TOP + HEIGHT - BOTTOM) / 2);
  }

  // What is told at a moment, a line each.
  /** @param {number} at */
  wordsAt(at) {
    const run = this.spec.run, words = [moment(at, this.view.pixel(this.width))];
    if (run && run.start !== null) words[0] += ' · ' + new Date((run.start + at) * 1000).toLocaleTimeString([], { hourCycle: 'h23', timeZoneName: 'short' });
    const phase = run && run.phases.find(([, from, to]) => at >= from && at < to);
    if (phase) words.push('phase ' + phase[0]);
    for (const line of this.spec.lines) {
      if (line.hidden) continue;
      const i = indexAt(line.times, at), unit = line.role === 'share' ? '%' : this.spec.unit;
      if (i >= line.times.length) continue;
      words.push(line.name + '  ' + shown(line.mean[i], unit) + (line.max && line.min && line.max[i] > line.min[i] ? '  (' + shown(line.min[i], unit) + ' to ' + shown(line.max[i], unit) + ')' : ''));
    }
    const held = run && this.spec.id === 'cpu' && run.throttled.find(([from, to]) => at >= from && at <= to);
    if (held) words.push('throttled by the quota, ' + shown(held[2], 'cores') + ' held back');
    if (run) for (const [name, when] of run.points) if (Math.abs(this.x(when) - this.x(at)) < 5 && words.length < 12) words.push('▾ ' + name);
    return words;
  }

  /** @param {number | null} at */
  point(at) {
    const outside = at === null || at < this.view.from || at > this.view.to;
    this.cursor.hidden = this.tip.hidden = outside;
    if (outside) return;
    const x = this.x(/** @type {number} */ (at));
    this.cursor.style.left = x + 'px';
    this.tip.replaceChildren(...this.wordsAt(/** @type {number} */ (at)).map(text => make('div', '', text)));
    this.tip.style.left = (x > this.width / 2 ? Math.max(2, x - this.tip.offsetWidth - 10) : x + 10) + 'px';
  }
}
