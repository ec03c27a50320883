// pictures.mjs FOLDER OUT: screenshots of page.html and two.html, small enough for a repository.
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
await bench.browser.close();
