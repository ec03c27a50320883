// What the tests of the page share: Debian's chromium, pages of sample runs, and looking at canvases.
import { execFileSync } from 'node:child_process';
import { createRequire } from 'node:module';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

export const here = path.dirname(fileURLToPath(import.meta.url));
const modules = createRequire(path.join(process.env.TACHO_WEB_MODULES || here, 'package.json'));
export const { chromium } = modules('playwright-core');
export const axe = modules.resolve('axe-core/axe.min.js');

export class Bench {
  /** @param {string} tacho @param {string} out a folder of our own */
  constructor(tacho, out) {
    this.tacho = tacho;
    this.out = out;
    fs.mkdirSync(out, { recursive: true });
  }

  run(name, ...options) {
    const folder = path.join(this.out, 'runs', name);
    execFileSync('python3', [path.join(here, 'make_run.py'), folder, ...options]);
    return folder;
  }

  report(name, inputs, ...options) {
    const file = path.join(this.out, name + '.html');
    execFileSync(this.tacho, ['report', ...inputs, '-o', file, ...options], { env: { ...process.env, TZ: 'UTC' } });
    return file;
  }

  // While somebody holds the lock on its rows, as a tacho that records does.
  reportOfRunning(name, folder) {
    const file = path.join(this.out, name + '.html');
    execFileSync('flock', [path.join(folder, 'metrics.csv'), this.tacho, 'report', folder, '-o', file]);
    return file;
  }

  async launch() {
    this.browser = await chromium.launch({ executablePath: process.env.TACHO_CHROMIUM || '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu', '--disable-accelerated-2d-canvas'] });
  }

  // A page that is ready; whatever it asks for or complains about is remembered.
  async open(file, options = {}) {
    const context = await this.browser.newContext({ viewport: { width: 1280, height: 900 }, acceptDownloads: true, ...options });
    const page = await context.newPage();
    page.faults = [];
    page.on('console', message => { if (['error', 'warning'].includes(message.type())) page.faults.push('console: ' + message.text()); });
    page.on('pageerror', error => page.faults.push('error: ' + error.message));
    page.on('dialog', dialog => { page.faults.push('dialog: ' + dialog.message()); dialog.dismiss(); });
    const address = pathToFileURL(file).href;
    page.on('request', request => { if (request.url() !== address && !request.url().startsWith('blob:')) page.faults.push('request: ' + request.url()); });
    await page.goto(address);
    page.setDefaultTimeout(5000);
    await settle(page);
    return page;
  }
}

// What a canvas shows, on a small scale, and how much of it is not blank.
export const pictureOf = (page, selector) => page.$$eval(selector + ' canvas', canvases => canvases.map(canvas => {
  const copy = document.createElement('canvas');
  copy.width = 96;
  copy.height = 48;
  const context = copy.getContext('2d', { willReadFrequently: true });
  context.drawImage(canvas, 0, 0, 96, 48);
  const pixels = [...context.getImageData(0, 0, 96, 48).data];
  return { pixels, drawn: pixels.filter((value, i) => i % 4 === 3 && value > 0).length };
}));

// Whether two such pictures show the same: edges of letters may be drawn otherwise the second time.
export const isSame = (a, b) => a.pixels.filter((value, i) => Math.abs(value - b.pixels[i]) > 40).length < 8;

// When all that was asked for is drawn. (waitForFunction would need eval, which the page forbids.)
export async function settle(page) {
  const { ready, pending } = await page.evaluate(() => new Promise(done => {
    let left = 600;
    const look = () => {
      const { ready, pending } = document.documentElement.dataset;
      if (left-- > 0 && !(ready && pending === '0')) setTimeout(look, 10); else done({ ready, pending });
    };
    requestAnimationFrame(() => requestAnimationFrame(look));
  }));
  if (!ready || pending !== '0') throw new Error(`the page is not drawn: ready ${ready}, ${pending} charts to go`);
}
