// @ts-check
'use strict';
// The rows as a file again. They lie in the page as gzip, and are unpacked by the browser itself.

/** @param {Uint8Array} packed @returns {Promise<Blob | null>} null: this browser cannot */
async function unzip(packed) {
  if (typeof DecompressionStream === 'undefined') return null;
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Response(stream).blob();
}

/** @param {Blob} blob @param {string} name */
function save(blob, name) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([blob], { type: 'text/csv' }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

/** @param {RunData[]} runs */
function followDownloads(runs) {
  for (const button of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll('[data-download]'))) {
    button.addEventListener('click', async () => {
      const number = Number(button.dataset.download), text = document.getElementById('rows' + number), download = runs[number].download;
      if (!text || !download) return;
      const packed = bytesOf((text.textContent || '').trim());
      const blob = await unzip(packed);
      if (blob) save(blob, download.name);
      else save(new Blob([packed]), download.name + '.gz');
    });
  }
}
