// The page in a real browser. Usage: test_page.mjs TACHO OUT [NAME]. Prints a line for each test; exit 1 when one fails.
// Screenshots stay in OUT.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { Bench, axe, isSame, pictureOf, settle } from './browser.mjs';

const bench = new Bench(process.argv[2], path.resolve(process.argv[3]));
const tests = {};

async function drag(page, selector, from, to, shift = false) {
  const box = await (await page.$(selector)).boundingBox();
  const x = part => box.x + 62 + (box.width - 72) * part;
  if (shift) await page.keyboard.down('Shift');
  await page.mouse.move(x(from), box.y + 80);
  await page.mouse.down();
  await page.mouse.move(x((from + to) / 2), box.y + 80);
  await page.mouse.move(x(to), box.y + 80);
  await page.mouse.up();
  if (shift) await page.keyboard.up('Shift');
  await settle(page);
}
const CPU = '[data-chart=cpu] .plot';
const range = page => page.textContent('.range');

tests['charts are drawn, and quickly'] = async page => {
  const pictures = await pictureOf(page, '.chart');
  assert.ok(pictures.length >= 8, 'charts: ' + pictures.length);
  for (const picture of pictures) assert.ok(picture.drawn > 100, 'a chart is blank');
};

tests['dragging zooms all charts, a double click shows all again'] = async page => {
  const before = await pictureOf(page, '.chart');
  await drag(page, CPU, .25, .5);
  const zoomed = await pictureOf(page, '.chart');
  zoomed.forEach((picture, i) => assert.ok(!isSame(picture, before[i]), 'chart ' + i + ' did not change'));
  assert.match(await range(page), /^2m30s to 5m(00s)? of 10m$/);
  await page.dblclick(CPU, { position: { x: 300, y: 80 } });
  await settle(page);
  assert.equal(await range(page), 'all of 10m');
  await page.mouse.move(5, 5);
  await settle(page);
  const after = await pictureOf(page, '.chart');
  after.forEach((picture, i) => assert.ok(isSame(picture, before[i]), 'chart ' + i + ' is not as before'));
};

tests['keys and buttons zoom, move and reset'] = async page => {
  await page.keyboard.press('+');
  await settle(page);
  assert.equal(await range(page), '2m30s to 7m30s of 10m');
  await page.keyboard.press('ArrowLeft');
  await settle(page);
  assert.equal(await range(page), '1m15s to 6m15s of 10m');
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('-');
  await settle(page);
  assert.equal(await range(page), 'all of 10m');
  for (const key of ['0', 'Escape']) {
    await page.click('[data-do=in]');
    await settle(page);
    assert.notEqual(await range(page), 'all of 10m');
    await page.keyboard.press(key);
    await settle(page);
    assert.equal(await range(page), 'all of 10m', key);
  }
  for (let i = 0; i < 60; i++) await page.keyboard.press('+');  // not beyond what can be told apart
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('0');
  await settle(page);
  assert.equal(await range(page), 'all of 10m');
};

tests['Shift and drag moves'] = async page => {
  await drag(page, CPU, .25, .75);
  await drag(page, CPU, .6, .4, true);
  assert.equal(await range(page), '3m30s to 8m30s of 10m');
};

tests['the crosshair tells values in every chart'] = async page => {
  const box = await (await page.$(CPU)).boundingBox();
  await page.mouse.move(box.x + 62 + (box.width - 72) * .3, box.y + 60);
  const tips = await page.$$eval('.own .tip', list => list.filter(tip => !tip.hidden).map(tip => tip.textContent));
  assert.equal(tips.length, (await page.$$('.own .chart')).length);
  assert.match(tips[0], /^3m · \d\d:\d\d:\d\d [A-Z+].*phase fit.*job {2}[\d.]+ cores/);
  await page.mouse.move(2, 2);
  assert.equal(await page.$$eval('.tip', list => list.filter(tip => !tip.hidden).length), 0);
};

tests['a band tells what limited the run, and each phase its verdict'] = async page => {
  const [band] = await pictureOf(page, '.band .chart');
  assert.ok(band.drawn > 100, 'the band is blank');
  const words = await page.textContent('.band .legend');
  for (const word of ['cpu quota', 'cpu', 'none']) assert.ok(words.includes(word), words);
  assert.match(await page.getAttribute('.band canvas', 'aria-label'), /phase fit: /);
  const tints = await page.evaluate(() => Object.fromEntries([...document.querySelectorAll('.band .legend span')].map(entry => [entry.textContent, entry.querySelector('i').style.background])));
  assert.deepEqual([tints.cpu, tints.none], ['var(--band-cpu)', 'var(--band-none)'], 'a class has the same colour on every page');
  assert.match(await page.textContent('.verdict'), /^Verdict: nothing limited it\. What to change: /);
  const verdicts = await page.$$eval('section[data-run] table.left tr', rows => rows.map(row => row.children[6].textContent));
  assert.equal(verdicts[0], 'verdict');
  assert.equal(verdicts.length, 5);
  for (const one of verdicts.slice(1)) assert.match(one, /[a-z]/);
  const box = await (await page.$('.band .plot')).boundingBox();
  await page.mouse.move(box.x + 62 + (box.width - 72) * .55, box.y + 12);
  assert.match(await page.getAttribute('.band .plot', 'title'), /^cpu quota\nphase fit: /);
};

tests['a legend hides its line'] = async page => {
  const [before] = await pictureOf(page, '[data-chart=cpu]');
  const button = await page.$('[data-chart=cpu] .legend button:last-child');
  await button.click();
  assert.equal(await button.getAttribute('aria-pressed'), 'false');
  await page.mouse.move(2, 2);
  const [hidden] = await pictureOf(page, '[data-chart=cpu]');
  assert.ok(!isSame(hidden, before));
  await button.click();
  await page.mouse.move(2, 2);
  assert.ok(isSame((await pictureOf(page, '[data-chart=cpu]'))[0], before));
};

tests['the table of processes sorts, and its bars follow the zoom'] = async page => {
  const column = n => page.$$eval('.gantt tbody tr', (rows, k) => rows.map(row => row.children[k].textContent), n);
  const seconds = text => text.endsWith('ms') ? parseFloat(text) / 1000 : (Number((text.match(/(\d+)m/) || [0, 0])[1]) * 60 + Number((text.match(/([\d.]+)s/) || [0, 0])[1]));
  const cpu = (await column(2)).map(seconds);
  assert.deepEqual(cpu, cpu.slice().sort((a, b) => b - a));
  await page.click('.gantt th:nth-child(1) button');
  const names = await column(0);
  assert.deepEqual(names.map(n => n.split(' ')[0].toLowerCase().slice(0, 2)), names.map(n => n.split(' ')[0].toLowerCase().slice(0, 2)).sort((a, b) => a.localeCompare(b)));
  assert.equal(await page.getAttribute('.gantt th:nth-child(1)', 'aria-sort'), 'ascending');
  await page.click('.gantt th:nth-child(4) button');
  assert.equal(await page.getAttribute('.gantt th:nth-child(4)', 'aria-sort'), 'descending');
  await page.click('.more');
  assert.equal((await column(0)).length, 62);
  assert.ok((await column(0)).some(name => name.includes('cc1plus × 1234')), 'merged lines are shown as such');
  const width = () => page.$$eval('.gantt .when i', bars => bars.map(bar => bar.style.left + bar.style.width).join());
  const before = await width(), scale = () => page.textContent('.gantt th.when');
  assert.equal(await scale(), '0sWhen10m');
  await page.keyboard.press('+');
  await settle(page);
  assert.notEqual(await width(), before);
  assert.equal(await scale(), '2m30sWhen7m30s');
};

tests['figures are rounded as everywhere'] = async page => {
  const told = (name, values) => page.evaluate(([name, values]) => values.map(value => ({ duration, bytes, number })[name](value)), [name, values]);
  // As in src/base/units_test.cc.
  assert.deepEqual(await told('duration', [0, .00001, .0004, .0034, .34, .9994, .9996, 1.25, 9.94, 9.96, 59.4, 59.6, 64, 300, 3599.6, 3660, 10979, 86399, 187200, -.5]),
    ['0s', '<0.1ms', '0.4ms', '3.4ms', '340ms', '999ms', '1s', '1.2s', '9.9s', '10s', '59s', '1m', '1m04s', '5m', '1h', '1h01m', '3h03m', '1d', '2d04h', '-500ms']);
  assert.deepEqual(await told('bytes', [0, 1023, 1024, 1023.6 * 1024, 2 ** 35, 1.26 * 2 ** 30, 150.4 * 2 ** 20]), ['0 B', '1023 B', '1 KiB', '1 MiB', '32 GiB', '1.3 GiB', '150 MiB']);
  assert.deepEqual(await told('number', [.004, .005, .0999, .714, .996, 1, 12.34, 99.96]), ['<0.01', '0.01', '0.1', '0.71', '1', '1', '12.3', '100']);
  // Marks of an axis are told apart however far it is zoomed in.
  assert.deepEqual(await page.evaluate(() => [[12.1, .1], [3600, 900], [3615, 15], [90000, 3600], [.0105, .0005], [0, 1]].map(([at, step]) => moment(at, step))),
    ['12.1s', '1h', '1h00m15s', '1d01h', '10.5ms', '0s']);
};

tests['the download is metrics.csv, byte for byte'] = async page => {
  const [download] = await Promise.all([page.waitForEvent('download'), page.click('[data-download]')]);
  assert.equal(download.suggestedFilename(), 'metrics.csv');
  assert.ok(fs.readFileSync(await download.path()).equals(fs.readFileSync(path.join(bench.out, 'runs/one/metrics.csv'))));
};

tests['no serious fault for a screen reader, light and dark'] = async page => {
  for (const colorScheme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme });
    await settle(page);
    const context = page.context();
    await page.evaluate(fs.readFileSync(axe, 'utf8'));
    for (const details of await page.$$('details')) await details.evaluate(node => node.open = true);
    const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
    const serious = violations.filter(one => ['serious', 'critical'].includes(one.impact));
    assert.deepEqual(serious.map(one => one.id + ': ' + one.nodes.map(node => node.html.slice(0, 120)).slice(0, 3).join(' | ')), [], colorScheme);
    assert.ok(context);
  }
};

tests['light, dark and print are different pictures'] = async page => {
  const shots = {};
  for (const [name, media] of Object.entries({ light: { colorScheme: 'light' }, dark: { colorScheme: 'dark' }, print: { colorScheme: 'dark', media: 'print' } })) {
    await page.emulateMedia({ media: 'screen', ...media });
    await settle(page);
    shots[name] = (await pictureOf(page, '[data-chart=cpu]'))[0];
    shots[name + 'back'] = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    await page.screenshot({ path: path.join(bench.out, name + '.png'), fullPage: true });
  }
  assert.ok(!isSame(shots.light, shots.dark));
  const ground = ({ pixels }) => pixels.slice(4 * (96 * 8 + 14), 4 * (96 * 8 + 14) + 3);  // in the first phase, above the lines
  assert.ok(ground(shots.dark).every(value => value < 80), ground(shots.dark).join());
  assert.ok(ground(shots.print).every(value => value > 200), 'paper is light: ' + ground(shots.print).join());
  assert.equal(shots.printback, 'rgb(255, 255, 255)');
  await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
  assert.equal(await page.evaluate(() => getComputedStyle(document.body).printColorAdjust), 'exact', 'bars and legends are printed');
  const unfolded = await page.evaluate(() => ['beforeprint', 'afterprint'].map(name => {
    dispatchEvent(new Event(name));
    return document.querySelectorAll('.ready details[open]').length;
  }));
  assert.deepEqual(unfolded, [6, 0], 'on paper nothing can be unfolded');
  await page.pdf({ path: path.join(bench.out, 'print.pdf'), format: 'A4' });
};

tests['without JavaScript the figures are there'] = async () => {
  const context = await bench.browser.newContext({ javaScriptEnabled: false });
  const page = await context.newPage();
  await page.goto('file://' + path.join(bench.out, 'one.html'));
  const text = await page.textContent('main');
  for (const word of ['Memory peak', 'exit 0', 'Phases', 'What to ask for next time', 'The charts need JavaScript']) assert.ok(text.includes(word), word);
  await context.close();
};

// Each with a page of its own.
const pages = {};
pages['hostile names stay text'] = async () => {
  const page = await bench.open(bench.report('hostile', [bench.run('hostile', '--hostile')]));
  await page.click('.more');
  assert.ok((await page.$$eval('.gantt th[scope=row]', cells => cells.map(cell => cell.textContent))).some(text => text.startsWith('<script>alert(1)</script>')));
  assert.equal((await page.$$('img')).length, 0);
  await page.keyboard.press('+');
  return page;
};
pages['two runs are overlaid and listed side by side'] = async () => {
  const page = await bench.open(bench.report('two', [path.join(bench.out, 'runs/one'), bench.run('two', '--rows', '450', '--seed', '2')], '--title', 'Before <and> after'));
  assert.equal(await page.textContent('h1'), 'Before <and> after');
  assert.deepEqual(await page.$$eval('.overlaid [data-chart=cpu] .legend button', buttons => buttons.map(button => button.textContent)), ['one', 'two']);
  assert.match(await page.textContent('.compare'), /-25%/);
  const swatches = await page.$$eval('.overlaid [data-chart=disk] .legend button:nth-child(-n+2) i', signs => signs.map(sign => getComputedStyle(sign).background));
  assert.equal(new Set(swatches).size, 2, 'lines of one run are told apart: ' + swatches.join(' | '));
  assert.equal(new Set(await page.$$eval('.gantt .when div', scales => scales.map(scale => scale.textContent))).size, 1, 'bars of both runs are on one scale');
  const before = await pictureOf(page, '.overlaid');
  await drag(page, '.overlaid ' + CPU, .2, .6);
  (await pictureOf(page, '.overlaid')).forEach((picture, i) => assert.ok(!isSame(picture, before[i])));
  await page.screenshot({ path: path.join(bench.out, 'two.png'), fullPage: true });
  return page;
};
pages['a run that goes on says so'] = async () => {
  const page = await bench.open(bench.reportOfRunning('running', bench.run('running', '--running')));
  assert.match(await page.textContent('.running'), /still goes on/);
  return page;
};
pages['one row is a point, no row is no chart'] = async () => {
  bench.run('short', '--rows', '1', '--rows-only');
  let page = await bench.open(bench.report('short', [path.join(bench.out, 'runs/short/metrics.csv')]));
  const [picture] = await pictureOf(page, '[data-chart=cpu]');
  assert.ok(picture.drawn > 100);
  assert.deepEqual(page.faults, []);
  bench.run('none', '--rows', '0', '--rows-only');
  page = await bench.open(bench.report('none', [path.join(bench.out, 'runs/none/metrics.csv')]));
  assert.match(await page.textContent('main'), /no rows to draw/);
  return page;
};
pages['a spike of one row in a hundred thousand is seen and its value right'] = async () => {
  const folder = bench.run('spike', '--rows', '100000', '--spike', '54321', '--rows-only');
  const page = await bench.open(bench.report('spike', [path.join(folder, 'metrics.csv')]));
  assert.match(await page.getAttribute('[data-chart=cpu] canvas', 'aria-label'), /job at most 123 cores at 15h06m/);
  await drag(page, CPU, .542, .545);
  assert.match(await page.textContent('[data-download]'), /of 100,000 rows as CSV \([\d,]+ rows are left out\)/);
  const [download] = await Promise.all([page.waitForEvent('download'), page.click('[data-download]')]);
  const [kept, total, left] = (await page.textContent('[data-download]')).match(/[\d,]{2,}/g).map(text => Number(text.replace(/,/g, '')));
  assert.equal(kept + left, total);
  assert.equal(fs.readFileSync(await download.path(), 'utf8').trimEnd().split('\n').length - 1, kept);
  return page;
};
pages['a large run is ready and zoomed in time'] = async () => {
  const page = await bench.open(bench.report('large', [bench.run('large', '--rows', '6000', '--gpus', '8', '--cores', '64', '--disks', '6', '--processes', '3000', '--network')]));
  await page.keyboard.press('+');
  await settle(page);
  const [ready, redraw] = await page.evaluate(() => [document.documentElement.dataset.ready, document.documentElement.dataset.redrawMs]);
  console.log(`        ready after ${ready} ms, redrawn in ${redraw} ms`);
  assert.ok(Number(ready) < 5000 && Number(redraw) < 1000);  // an order of magnitude above what it takes
  await page.screenshot({ path: path.join(bench.out, 'large.png'), fullPage: true });
  return page;
};

let failed = 0, passed = 0;
async function attempt(name, test) {
  if (process.argv[4] && !name.includes(process.argv[4])) return;
  const began = Date.now();
  try {
    const page = await test();
    if (page) assert.deepEqual(page.faults, [], 'no request, no complaint');
    if (page) await page.context().close();
    passed++;
    console.log(`ok      ${name} (${Date.now() - began} ms)`);
  } catch (error) {
    failed++;
    console.log(`FAILED  ${name}\n${error.stack}`);
  }
}

bench.report('one', [bench.run('one')]);
await bench.launch();
for (const [name, test] of Object.entries(tests))
  await attempt(name, async () => {
    const page = await bench.open(path.join(bench.out, 'one.html'));
    await test(page);
    return page;
  });
for (const [name, test] of Object.entries(pages)) await attempt(name, test);
await bench.browser.close();
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
