// @ts-check
'use strict';
// Figures: from the packed form that the page holds to numbers, and from numbers to what a person reads.

const NONE = 65535;

/** @param {string} text @returns {Uint8Array} */
function bytesOf(text) {
  const raw = atob(text), bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
  return bytes;
}

// One 16-bit code to a share of the whole range; the other side is src/report/page/page_line.cc.
/** @param {number} code */
function shareOf(code) {
  if (code === NONE) return NaN;
  if (code === NONE - 1) return 1;
  return code === 0 ? 0 : (1 + (code & 2047) / 2048) * Math.pow(2, -(code >> 11) - 1);
}

/** @param {string | undefined} text @param {PackedLine} line @returns {Float64Array | null} */
function unpack(text, line) {
  if (text === undefined) return null;
  const bytes = bytesOf(text), values = new Float64Array(bytes.length / 2);
  for (let i = 0; i < values.length; i++)
    values[i] = line.scale * (line.low + (line.top - line.low) * shareOf(bytes[2 * i] | bytes[2 * i + 1] << 8));
  return values;
}

// The end of each point in seconds since the start.
/** @param {number[]} milliseconds */
function endsOf(milliseconds) {
  const ends = new Float64Array(milliseconds.length);
  let sum = 0;
  milliseconds.forEach((ms, i) => ends[i] = (sum += ms) / 1000);
  return ends;
}

/** @param {number} value @param {number} digits */
function trimmed(value, digits) {
  // A half becomes even, as printf has it: 1.25 is 1.2.
  const halves = value * 2 ** (digits + 1), below = Math.floor(value * 10 ** digits);
  const text = (halves % 2 === 1 ? (below + below % 2) / 10 ** digits : value).toFixed(digits);
  return text.includes('.') ? text.replace(/\.?0+$/, '') : text;
}

/** @param {number} large @param {string} name @param {number} small @param {string} smallName */
function twoParts(large, name, small, smallName) { return large + name + (small ? String(small).padStart(2, '0') + smallName : ''); }

// Rounded as everywhere in tacho: the other side of duration, bytes and number is src/base/units.cc.
/** @param {number} seconds */
function duration(seconds) {
  const sign = seconds < 0 ? '-' : '', s = Math.abs(seconds), ms = s * 1000;
  if (s === 0) return '0s';
  if (ms < .05) return sign + '<0.1ms';
  if (ms < 999.5) return sign + trimmed(ms, ms < 9.95 ? 1 : 0) + 'ms';
  if (s < 9.95) return sign + trimmed(s, 1) + 's';
  const whole = Math.round(s), minutes = Math.floor((whole + 30) / 60), hours = Math.floor((whole + 1800) / 3600);
  if (whole < 60) return sign + whole + 's';
  if (whole < 3600) return sign + twoParts(Math.floor(whole / 60), 'm', whole % 60, 's');
  if (minutes < 1440) return sign + twoParts(Math.floor(minutes / 60), 'h', minutes % 60, 'm');
  return sign + twoParts(Math.floor(hours / 24), 'd', hours % 24, 'h');
}

// A moment among others that are `step` apart, so that each is told from the next: 1h02m30s.
/** @param {number} seconds @param {number} step */
function moment(seconds, step) {
  const digits = step >= 1 ? 0 : Math.min(6, Math.ceil(-Math.log10(step) - 1e-9));
  const s = Number(Math.abs(seconds).toFixed(digits));
  if (s === 0) return '0s';
  const sign = seconds < 0 ? '-' : '';
  if (s < 1) return sign + trimmed(s * 1000, Math.max(0, digits - 3)) + 'ms';
  /** @type {[number, string][]} */
  const parts = [[Math.floor(s / 86400), 'd'], [Math.floor(s % 86400 / 3600), 'h'], [Math.floor(s % 3600 / 60), 'm'], [Number((s % 60).toFixed(digits)), 's']];
  while (!parts[0][0]) parts.shift();
  while (!parts[parts.length - 1][0]) parts.pop();
  return sign + parts.map(([count, name], i) => (i && count < 10 ? '0' : '') + trimmed(count, name === 's' ? digits : 0) + name).join('');
}

const BYTES = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];

/** @param {number} value */
function bytes(value) {
  let step = 0;
  while (Math.abs(value) >= 1023.5 && step < 5) value /= 1024, step++;
  return trimmed(value, step === 0 || Math.abs(value) >= 99.95 ? 0 : 1) + ' ' + BYTES[step];
}

/** @param {number} value */
function number(value) {
  const size = Math.abs(value);
  if (size > 0 && size < .005) return value > 0 ? '<0.01' : '>-0.01';
  return trimmed(value, size >= 99.95 ? 0 : size >= .995 ? 1 : 2);
}

// On an axis all in the unit of the step, so that they can be compared.
/** @param {number} value @param {number} top */
function bytesOnAxis(value, top) {
  const step = Math.min(5, Math.max(0, Math.floor(Math.log(top) / Math.log(1024))));
  return trimmed(value / Math.pow(1024, step), 3) + ' ' + BYTES[step];
}

// A figure with its unit; `short` for axes.
/** @param {number | null | undefined} value @param {string} unit @param {boolean} [short] */
function shown(value, unit, short) {
  if (value === null || value === undefined || Number.isNaN(value)) return '–';
  if (unit === 'bytes') return bytes(value);
  if (unit === 'bytes/s') return bytes(value) + (short ? '' : '/s');
  const size = Math.abs(value), text = short ? trimmed(value, size >= 100 ? 0 : size >= 10 ? 1 : size >= .1 || size === 0 ? 2 : 4) : number(value);
  if (unit === '%') return text + (short ? '%' : ' %');
  return short || unit === '' ? text : text + ' ' + (text === '1' ? unit.replace(/s$/, '') : unit);
}

// The distance of grid lines: a round number, at most `count` of them.
/** @param {number} top @param {string} unit @param {number} count */
function niceStep(top, unit, count) {
  const raw = top / count;
  if (!(raw > 0)) return 1;
  // Of bytes in the unit of the largest: 0.5 MiB, not 512 KiB.
  const base = unit.startsWith('bytes') ? Math.pow(1024, Math.max(0, Math.floor(Math.log(top) / Math.log(1024)))) : 1;
  const rest = raw / base, power = Math.pow(10, Math.floor(Math.log10(rest)));
  for (const m of [1, 2, 2.5, 5, 10]) if (m * power >= rest * .999) return m * power * base;
  return raw;
}

const TIME_STEPS = [.001, .002, .005, .01, .02, .05, .1, .2, .5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800];

/** @param {number} span @param {number} count */
function timeStep(span, count) {
  return TIME_STEPS.find(step => span / step <= count) || span / count;
}

// An element with a class and a text.
/** @template {keyof HTMLElementTagNameMap} K @param {K} tag @param {string} [style] @param {string} [text] @returns {HTMLElementTagNameMap[K]} */
function make(tag, style, text) {
  const element = document.createElement(tag);
  if (style) element.className = style;
  if (text !== undefined) element.textContent = text;
  return element;
}
