// What calls from JavaScript cost: the jobs of `src/main.rs` beside this file, in the same sizes.
import { Index, Params } from 'nearkin';

const COUNT = 100_000;
const BATCH = 1_000;

/** The words of text `number`: the same as in Rust. */
function text(number) {
  const words = [];
  let state = (number * 2654435761) >>> 0;
  for (let at = 0; at < 12; at++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    words.push(`w${state >>> 18}`);
  }
  return words.join(' ');
}

async function measure(name, work) {
  let best = Infinity;
  for (let turn = 0; turn < 3; turn++) {
    const begun = performance.now();
    await work();
    best = Math.min(best, performance.now() - begun);
  }
  console.log(`${name}\t${((best * 1e3) / COUNT).toFixed(2)} us`);
}

const texts = Array.from({ length: COUNT }, (_, number) => text(number));
const index = Index.temporary(new Params({ threshold: 0.7 }));
const { sketcher } = index;
const signatures = sketcher.textsSync(texts);
const batchOf = (documents, first) =>
  documents.slice(first, first + BATCH).map((document, at) => ({ key: `k${first + at}`, document }));

const firsts = Array.from({ length: COUNT / BATCH }, (_, at) => at * BATCH);
await measure('insert of signatures, batches of 1,000, writeSync', () => {
  index.removePrefixSync('k');
  for (const first of firsts) index.writeSync(batchOf(signatures, first));
});
await measure('insert of texts, batches of 1,000, writeSync', () => {
  index.removePrefixSync('k');
  for (const first of firsts) index.writeSync(batchOf(texts, first));
});
await measure('insert of texts, batches of 1,000, write', async () => {
  index.removePrefixSync('k');
  for (const first of firsts) await index.write(batchOf(texts, first));
});
index.compactSync();
await measure('query of a signature, querySync', () => {
  for (const signature of signatures) index.querySync(signature, { limit: 10 });
});
await measure('query of a text, querySync', () => {
  for (const one of texts) index.querySync(one, { limit: 10 });
});
await measure('query of a text, query, one at a time', async () => {
  for (const one of texts) await index.query(one, { limit: 10 });
});
await measure('query of a text, query, 100 at a time', async () => {
  for (let first = 0; first < COUNT; first += 100) {
    await Promise.all(texts.slice(first, first + 100).map((one) => index.query(one, { limit: 10 })));
  }
});
await measure('sketch of a text, textsSync of 100,000', () => sketcher.textsSync(texts));
