// pictures.mjs FOLDER OUT: screenshots of page.html and two.html, and what a terminal showed (top.txt), small enough for a repository.
import fs from 'node:fs';
import path from 'node:path';
import { Bench } from './browser.mjs';

const [folder, out] = process.argv.slice(2);
const bench = new Bench('', folder);
await bench.launch();
for (const [name, file, options] of [['page', 'page.html', { colorScheme: 'light' }], ['page-dark', 'page.html', { colorScheme: 'dark' }], ['two-runs', 'two.html', { colorScheme: 'light' }]]) {
  const page = await bench.open(path.join(folder, file), { viewport: { width: 1100, height: 820 }, ...options });
  await page.mouse.move(330, 560);
  await page.screenshot({ path: path.join(out, name + '.png') });
}
const terminal = await bench.browser.newPage({ viewport: { width: 1100, height: 400 } });
await terminal.setContent('<body style="margin:0;background:#12161d"><pre style="display:inline-block;margin:0;padding:16px 20px;color:#dfe5ee;font:14px/1.35 \'DejaVu Sans Mono\',monospace"></pre>');
await terminal.$eval('pre', (pre, text) => pre.textContent = text, fs.readFileSync(path.join(folder, 'top.txt'), 'utf8').trimEnd());
await (await terminal.$('pre')).screenshot({ path: path.join(out, 'top.png') });
await bench.browser.close();
