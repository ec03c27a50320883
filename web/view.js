// @ts-check
'use strict';
// The stretch of time that all charts show together: zoomed, moved and reset by mouse, touch, buttons and keys.

class View {
  /** @param {number} end seconds @param {number} lasted what the longest run took; its last row may be some milliseconds later */
  constructor(end, lasted) {
    this.end = end > 0 ? end : 1;
    this.lasted = lasted > 0 ? lasted : this.end;
    this.from = 0;
    this.to = this.end;
    /** @type {Drawn[]} */
    this.drawn = [];
    /** @type {((view: View) => void)[]} */
    this.told = [];
    this.waiting = false;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.timer = undefined;
  }

  // How much time is beside itself on a screen of that width.
  /** @param {number} width */
  pixel(width) { return (this.to - this.from) / Math.max(1, width); }

  get zoomed() { return this.from > 0 || this.to < this.end; }

  // Never less than a thousandth of a second, never outside of the run.
  /** @param {number} from @param {number} to */
  show(from, to) {
    if (!Number.isFinite(from) || !Number.isFinite(to)) return;
    const span = Math.min(this.end, Math.max(to - from, Math.min(this.end, Math.max(.001, this.end / 1e6))));
    const start = Math.min(Math.max(0, from), this.end - span);
    if (start === this.from && start + span === this.to) return;
    this.from = start;
    this.to = start + span;
    this.later();
  }

  reset() { this.show(0, this.end); }

  // By a factor, around a moment that stays where it is.
  /** @param {number} factor @param {number} [at] */
  zoom(factor, at) {
    const middle = at === undefined ? (this.from + this.to) / 2 : at;
    this.show(middle - (middle - this.from) * factor, middle + (this.to - middle) * factor);
  }

  // By a part of what is seen.
  /** @param {number} part */
  move(part) {
    const by = (this.to - this.from) * part, span = this.to - this.from;
    const start = Math.min(Math.max(0, this.from + by), this.end - span);
    this.show(start, start + span);
  }

  // One redraw a frame, however often it is asked for.
  later() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => this.redraw());
  }

  // What is in sight at once, the rest in pieces between other work. All is measured before anything is changed: else
  // the browser would lay the page out anew for each chart.
  redraw() {
    this.waiting = false;
    const began = performance.now();
    /** @type {Drawn[]} */
    const now = [];
    /** @type {Drawn[]} */
    const rest = [];
    for (const chart of this.drawn) (chart.measure() ? now : rest).push(chart);
    for (const chart of now) chart.draw();
    for (const tell of this.told) tell(this);
    const root = document.documentElement.dataset;
    root.redrawMs = (performance.now() - began).toFixed(1);
    root.pending = String(rest.length);
    clearTimeout(this.timer);
    const go = () => {
      const until = performance.now() + 12;
      while (rest.length && performance.now() < until) /** @type {Drawn} */ (rest.shift()).draw();
      root.pending = String(rest.length);
      if (rest.length) this.timer = setTimeout(go);
    };
    if (rest.length) this.timer = setTimeout(go);
  }

  // Everything, before this returns: for paper.
  redrawAll() {
    for (const chart of this.drawn) chart.measure();
    for (const chart of this.drawn) chart.draw();
  }

  /** @param {number | null} at */
  point(at) { for (const chart of this.drawn) chart.point(at); }

  /** @param {string} what */
  act(what) {
    if (what === 'in') this.zoom(.5);
    else if (what === 'out') this.zoom(2);
    else if (what === 'left') this.move(-.25);
    else if (what === 'right') this.move(.25);
    else this.reset();
  }
}

/** @type {Record<string, string>} */
const KEYS = { '+': 'in', '=': 'in', '-': 'out', '_': 'out', ArrowLeft: 'left', ArrowRight: 'right', '0': 'reset', Escape: 'reset' };

/** @param {View} view */
function followKeys(view) {
  document.addEventListener('keydown', event => {
    const what = KEYS[event.key];
    const target = /** @type {HTMLElement | null} */ (event.target);
    // What scrolls sideways keeps its arrows, and so does what takes text.
    const taken = target && target.closest('input,textarea,select,.scroll,pre') && event.key.startsWith('Arrow');
    if (!what || taken || event.ctrlKey || event.metaKey || event.altKey) return;
    view.act(what);
    event.preventDefault();
  });
  for (const button of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll('[data-do]')))
    button.addEventListener('click', () => view.act(button.dataset.do || ''));
  const range = document.querySelector('.range');
  const tell = () => {
    if (!range) return;
    const step = view.pixel(200);
    range.textContent = view.zoomed ? moment(view.from, step) + ' to ' + moment(view.to, step) + ' of ' + duration(view.lasted) : 'all of ' + duration(view.lasted);
  };
  view.told.push(tell);
  tell();
}

// What is drawn along the time of the view: a chart, the band, the heat map. Its constructor makes the plot and is at the end of it `shown`.
class Strip {
  /** @param {View} view */
  constructor(view) {
    this.view = view;
    this.plot = make('div', 'plot');
    this.width = 600;
  }

  /** @param {HTMLElement} mark */
  shown(mark) {
    followPointer(this.view, this.plot, () => [LEFT, this.width - LEFT - RIGHT], mark);
    this.view.drawn.push(/** @type {any} */ (this));
  }

  /** @param {number} at */
  x(at) { return LEFT + (this.width - LEFT - RIGHT) * (at - this.view.from) / (this.view.to - this.view.from); }

  measure() {
    const [width, inSight] = placeOf(this.plot);
    this.width = width;
    return inSight;
  }
}

// Dragging over a surface: zooms, or moves with Shift or two fingers' worth of patience (touch pans the page up and down).
/** @param {View} view @param {HTMLElement} surface @param {() => [number, number]} inner left edge and width in pixels @param {HTMLElement} mark */
function followPointer(view, surface, inner, mark) {
  /** @type {{x: number, move: boolean, from: number, to: number} | null} */
  let grip = null;
  const place = (/** @type {PointerEvent | MouseEvent} */ event) => event.clientX - surface.getBoundingClientRect().left;
  const timeAt = (/** @type {number} */ x) => {
    const [left, width] = inner();
    return view.from + (view.to - view.from) * Math.min(1, Math.max(0, (x - left) / width));
  };
  surface.addEventListener('pointerdown', event => {
    if (event.button !== 0) return;
    grip = { x: place(event), move: event.shiftKey, from: view.from, to: view.to };
    surface.setPointerCapture(event.pointerId);
  });
  surface.addEventListener('pointermove', event => {
    const x = place(event);
    if (grip && grip.move) {
      const by = (grip.x - x) / inner()[1] * (grip.to - grip.from), span = grip.to - grip.from;
      const start = Math.min(Math.max(0, grip.from + by), view.end - span);
      view.show(start, start + span);
    } else if (grip) {
      const [left, width] = inner(), a = Math.max(left, Math.min(grip.x, x)), b = Math.min(left + width, Math.max(grip.x, x));
      mark.hidden = b - a < 4;
      mark.style.left = a + 'px';
      mark.style.width = Math.max(0, b - a) + 'px';
    }
    view.point(timeAt(x));
  });
  const release = (/** @type {PointerEvent} */ event) => {
    if (!grip) return;
    const x = place(event), from = timeAt(Math.min(grip.x, x)), to = timeAt(Math.max(grip.x, x));
    if (!grip.move && Math.abs(x - grip.x) >= 4 && event.type === 'pointerup') view.show(from, to);
    grip = null;
    mark.hidden = true;
  };
  surface.addEventListener('pointerup', release);
  surface.addEventListener('pointercancel', release);
  surface.addEventListener('pointerleave', () => view.point(null));
  surface.addEventListener('dblclick', () => view.reset());
  surface.addEventListener('wheel', event => {
    if (!event.ctrlKey) return;  // the wheel alone scrolls the page
    event.preventDefault();
    view.zoom(event.deltaY > 0 ? 1.25 : .8, timeAt(event.clientX - surface.getBoundingClientRect().left));
  }, { passive: false });
}

// The width of a plot, and whether any of it is in sight.
/** @param {HTMLElement} plot @returns {[number, boolean]} */
function placeOf(plot) {
  const box = plot.getBoundingClientRect();
  return [box.width || 600, box.bottom > 0 && box.top < window.innerHeight];
}

// What every drawing over time has: a canvas (`words` say what is on it), what is being selected, the moment under the pointer, and a tip.
/** @param {HTMLElement} plot @param {string} words */
function layersOf(plot, words) {
  const canvas = make('canvas'), cursor = make('div', 'cursor'), tip = make('div', 'tip'), mark = make('div', 'selection');
  canvas.setAttribute('role', 'img');
  canvas.setAttribute('aria-label', words);
  cursor.hidden = tip.hidden = mark.hidden = true;
  plot.append(canvas, mark, cursor, tip);
  return { canvas, cursor, tip, mark };
}

// An empty canvas of that size in the pixels of the screen; null where nothing can be drawn.
/** @param {HTMLCanvasElement} canvas @param {number} width @param {number} height */
function paperOf(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1, context = canvas.getContext('2d');
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  if (context) context.scale(ratio, ratio);
  return context;
}
