// page_browser.mjs TACHO FOLDER DYGRAPHS: how soon a page of 25 charts can be used in chromium and how long a zoom takes, beside the same
// lines drawn by dygraphs. Prints a table.
import fs from 'node:fs';
import path from 'node:path';
import { Bench, settle } from '../tests/web/browser.mjs';

const bench = new Bench(process.argv[2], process.argv[3]);
const middle = values => values.sort((a, b) => a - b)[values.length >> 1].toFixed(0);
const file = bench.report('browser', [bench.run('20261115-browser', '--rows', '6000', '--gpus', '8', '--cores', '64', '--disks', '6', '--processes', '3000', '--network')]);
await bench.launch();
const ready = [], zooms = [], all = [];
for (let i = 0; i < 5; i++) {
  const page = await bench.open(file);
  ready.push(Number(await page.evaluate(() => document.documentElement.dataset.ready)));
  for (const key of ['+', '+', '-', '0']) {
    await page.keyboard.press(key);
    await settle(page);
    zooms.push(Number(await page.evaluate(() => document.documentElement.dataset.redrawMs)));
  }
  all.push(await page.evaluate(() => { const began = performance.now(); window.dispatchEvent(new Event('beforeprint')); return performance.now() - began; }));
  var charts = (await page.$$('.chart canvas')).length;
  await page.context().close();
}
console.log('| in chromium | ready, ms | a zoom, ms | all charts, ms | script, KB |\n|---|---|---|---|---|');
const script = fs.readFileSync(file, 'utf8').match(/<script>([^]*?)<\/script>\n<\/body>/)[1].length;
console.log(`| tacho's page, ${charts} charts, table of processes | ${middle(ready)} (goal 300) | ${middle(zooms)} (goal 50) | ${middle(all)} | ${(script / 1000).toFixed(0)} |`);

if (fs.existsSync(process.argv[4])) {
  const library = fs.readFileSync(process.argv[4], 'utf8'), page = path.join(bench.out, 'dygraphs.html');
  fs.writeFileSync(page, `<!doctype html><meta charset=utf-8><body><script>${library}</script><script>
const began = performance.now(), graphs = [];
for (let c = 0; c < ${charts}; c++) {
  const box = document.createElement('div'); box.style.cssText = 'width:560px;height:190px'; document.body.append(box);
  const rows = []; for (let i = 0; i < 1000; i++) { const row = [i]; for (let s = 0; s < 3; s++) { const v = Math.sin(i / 50 + s + c) + 1; row.push([v * .8, v, v * 1.2]); } rows.push(row); }
  graphs.push(new Dygraph(box, rows, { customBars: true, labels: ['t', 'a', 'b', 'c'] }));
}
window.ready = performance.now() - began;
window.zoom = (a, b) => { const began = performance.now(); for (const graph of graphs) graph.updateOptions({ dateWindow: [a, b] }); return performance.now() - began; };
</script>`);
  const ready = [], zooms = [];
  for (let i = 0; i < 5; i++) {
    const tab = await bench.browser.newPage();
    await tab.goto('file://' + page);
    const times = await tab.evaluate(() => [window.ready, window.zoom(100, 900), window.zoom(300, 600), window.zoom(0, 999)]);
    ready.push(times[0]);
    zooms.push(...times.slice(1));
    await tab.close();
  }
  console.log(`| dygraphs, ${charts} charts of three lines with 1000 points | ${middle(ready)} | ${middle(zooms)} | ${middle(zooms)} | ${(library.length / 1000).toFixed(0)} |`);
}
console.log('');
await bench.browser.close();
