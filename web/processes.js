// @ts-check
'use strict';
// Who used it: a table that sorts by any column, and beside each line when it lived, in the time that the charts show.

const FIRST_ROWS = 20;

/** @typedef {{name: string, command: string, pid: number, ppid: number, from: number | null, to: number | null, count: number, cpu: number | null, peak: number | null, io: number | null, read: number | null, written: number | null, vram: number | null, life: number | null, exit: string}} Process */

/** @param {ProcessLine} line @param {number} end @returns {Process} */
function processOf(line, end) {
  const [name, command, pid, ppid, from, to, count, cpu, peak, read, written, vram, exit] = line;
  const io = read === null && written === null ? null : (read || 0) + (written || 0);
  return { name, command, pid, ppid, from, to, count, cpu, peak, io, read, written, vram, exit, life: from === null ? null : (to === null ? end : to) - from };
}

// Of several, or of nobody in particular, as (short-lived). Where numbers are hidden a line of one process has none, too.
/** @param {Process} one */
function isMerged(one) { return one.count > 1 || (one.pid === 0 && one.name.startsWith('(')); }

/** @type {{key: keyof Process, title: string, text: (one: Process) => string}[]} */
const COLUMNS = [
  { key: 'name', title: 'Process', text: one => one.name + (one.count > 1 ? ' × ' + one.count : '') },
  { key: 'pid', title: 'PID', text: one => one.pid ? String(one.pid) : '' },
  { key: 'cpu', title: 'CPU time', text: one => one.cpu === null ? '' : duration(one.cpu) },
  { key: 'peak', title: 'Peak memory', text: one => one.peak === null ? '' : bytes(one.peak * 1048576) },
  { key: 'io', title: 'Disk', text: one => one.io === null ? '' : bytes(one.io) },
  { key: 'life', title: 'Life', text: one => one.life === null ? '' : duration(one.life) },
  { key: 'exit', title: 'Exit', text: one => one.exit },
];

class Processes {
  /** @param {View} view @param {HTMLElement} host @param {RunData} run */
  constructor(view, host, run) {
    this.view = view;
    this.end = run.seconds || view.end;
    this.all = run.processes.map(line => processOf(line, this.end));
    this.gpu = this.all.some(one => one.vram !== null);
    /** @type {{key: keyof Process, down: boolean}} */
    this.order = { key: 'cpu', down: true };
    this.limit = FIRST_ROWS;
    /** @type {{one: Process, bar: HTMLElement}[]} */
    this.bars = [];
    const card = make('section', 'card');
    card.append(make('h2', '', 'Processes'));
    const scroll = make('div', 'scroll');
    scroll.tabIndex = 0;
    scroll.setAttribute('role', 'region');
    scroll.setAttribute('aria-label', 'Processes of ' + run.id);
    // What the bars begin and end with.
    this.first = make('span');
    this.last = make('span');
    this.table = make('table', 'gantt');
    this.body = make('tbody');
    this.heads = this.head();
    this.table.append(this.body);
    scroll.append(this.table);
    this.more = make('button', 'more');
    this.more.type = 'button';
    this.more.addEventListener('click', () => { this.limit = Infinity; this.fill(); });
    card.append(scroll, this.more);
    host.append(card);
    this.fill();
    view.drawn.push(this);
  }

  columns() {
    return this.gpu ? [...COLUMNS.slice(0, 5), { key: /** @type {keyof Process} */ ('vram'), title: 'GPU memory', text: (/** @type {Process} */ one) => one.vram === null ? '' : bytes(one.vram * 1048576) }, ...COLUMNS.slice(5)] : COLUMNS;
  }

  head() {
    const head = make('thead'), row = make('tr'), heads = new Map();
    for (const column of this.columns()) {
      const cell = make('th'), button = make('button', '', column.title);
      cell.scope = 'col';
      button.type = 'button';
      button.addEventListener('click', () => {
        this.order = { key: column.key, down: this.order.key === column.key ? !this.order.down : column.key !== 'name' && column.key !== 'pid' && column.key !== 'exit' };
        this.fill();
      });
      cell.append(button);
      row.append(cell);
      heads.set(column.key, cell);
    }
    const when = make('th', 'when'), scale = make('div');
    when.scope = 'col';
    scale.append(this.first, 'When', this.last);
    when.append(scale);
    row.append(when);
    head.append(row);
    this.table.append(head);
    return heads;
  }

  sorted() {
    const { key, down } = this.order;
    return this.all.slice().sort((a, b) => {
      const x = a[key], y = b[key];
      if (x === null || y === null) return Number(x === null) - Number(y === null);  // unknown comes last, both ways
      const way = typeof x === 'string' ? x.localeCompare(String(y)) : x - Number(y);
      return down ? -way : way;
    });
  }

  fill() {
    for (const [key, cell] of this.heads) cell.setAttribute('aria-sort', key !== this.order.key ? 'none' : this.order.down ? 'descending' : 'ascending');
    this.bars = [];
    const rows = this.sorted().slice(0, this.limit).map(one => {
      const row = make('tr', isMerged(one) ? 'merged' : '');
      this.columns().forEach((column, i) => {
        const cell = make(i ? 'td' : 'th');
        if (i) cell.textContent = column.text(one);
        else {
          /** @type {HTMLTableCellElement} */ (cell).scope = 'row';
          cell.append(make('bdi', '', column.text(one)));
          if (one.command && one.command !== one.name) cell.append(make('bdi', 'command', one.command));
          if (one.count > 1) cell.title = one.count + ' processes in one line: CPU and disk are their sums, memory is the largest';
        }
        row.append(cell);
      });
      const when = make('td', 'when'), bar = make('i');
      if (one.from !== null) {
        bar.title = duration(one.from) + ' to ' + (one.to === null ? 'the end' : duration(one.to));
        this.bars.push({ one, bar });
        when.append(bar);
      }
      row.append(when);
      return row;
    });
    this.body.replaceChildren(...rows);
    this.more.hidden = this.all.length <= this.limit;
    this.more.textContent = 'Show all ' + this.all.length + ' lines';
    this.draw();
  }

  measure() { return placeOf(this.table)[1]; }

  draw() {
    const { from, to } = this.view, span = to - from;
    this.first.textContent = moment(from, span / 100);
    this.last.textContent = this.view.zoomed ? moment(to, span / 100) : duration(this.view.lasted);
    for (const { one, bar } of this.bars) {
      const a = Math.max(0, (Number(one.from) - from) / span), b = Math.min(1, ((one.to === null ? this.end : one.to) - from) / span);
      bar.hidden = b < 0 || a > 1;
      bar.style.left = 'min(' + a * 100 + '%, 100% - 2px)';  // the last moment is seen, too
      bar.style.width = Math.max(0, b - a) * 100 + '%';
    }
  }

  point() {}
}
