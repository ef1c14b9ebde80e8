// Owns an index. It runs as a worker thread, or as a utility process of Electron, and answers messages
// `{ id, method, params }` with `{ id, value }` or `{ id, error }`; `{ cancel: id }` stops a request.
import { parentPort } from 'node:worker_threads';
import { Index, Params } from 'nearkin';

// Electron gives a utility process its port here, and wraps messages as events.
const port = process.parentPort ?? parentPort;
const folder = process.argv.at(-1);
// The worker answers while it opens: requests wait for this promise.
const opening = Index.open(folder, new Params({ threshold: 0.8 }));
const running = new Map();

const methods = {
  /** Stores a document, and tells what was there and is like it. */
  async add(index, { key, text }, signal) {
    const { matches } = await index.query(text, { limit: 3, signal });
    await index.insert(key, text, { signal });
    return { duplicates: matches.filter((match) => match.key !== key) };
  },

  async clusters(index, { threshold }, signal) {
    let clusters = 0;
    for await (const { keys } of index.clusters({ threshold, signal })) clusters += Number(keys.length > 1);
    return { clusters };
  },

  async pairs(index, { threshold }, signal) {
    let pairs = 0;
    for await (const { a, b } of index.pairs({ threshold, signal })) pairs += Number(a !== b);
    return { pairs };
  },

  async close(index) {
    await index.close();
  },
};

async function answer({ id, method, params }) {
  const controller = new AbortController();
  running.set(id, controller);
  try {
    const value = await methods[method](await opening, params, controller.signal);
    port.postMessage({ id, value });
  } catch ({ message, code }) {
    port.postMessage({ id, error: { message, code } });
  } finally {
    running.delete(id);
  }
}

port.on('message', (event) => {
  const message = event.data ?? event;
  if (message.cancel === undefined) answer(message);
  else running.get(message.cancel)?.abort();
});
