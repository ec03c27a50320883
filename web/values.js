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
  const text = value.toFixed(digits);
  return text.includes('.') ? text.replace(/\.?0+$/, '') : text;
}

/** @param {number} seconds */
function duration(seconds) {
  const sign = seconds < 0 ? '-' : '', s = Math.abs(seconds), two = (/** @type {number} */ n) => String(n).padStart(2, '0');
  if (s < 1 && s > 0) return sign + trimmed(s * 1000, s < .01 ? 1 : 0) + 'ms';
  if (s < 60) return sign + trimmed(s, s < 10 ? 1 : 0) + 's';
  const whole = Math.round(s);
  if (whole < 3600) return sign + Math.floor(whole / 60) + 'm' + (whole % 60 ? two(whole % 60) + 's' : '');
  const minutes = Math.round(s / 60);
  if (minutes < 1440) return sign + Math.floor(minutes / 60) + 'h' + two(minutes % 60) + 'm';
  const hours = Math.round(s / 3600);
  return sign + Math.floor(hours / 24) + 'd' + two(hours % 24) + 'h';
}

const BYTES = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];

/** @param {number} value */
function bytes(value) {
  let step = 0;
  while (Math.abs(value) >= 1024 && step < 5) value /= 1024, step++;
  return trimmed(value, step === 0 || Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2) + ' ' + BYTES[step];
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
  const size = Math.abs(value), text = trimmed(value, size >= 100 ? 0 : size >= 10 ? 1 : size >= .1 || size === 0 ? 2 : 4);
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
