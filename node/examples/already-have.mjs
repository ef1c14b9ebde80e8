// "You already have this", as a desktop program does it: a worker owns the index, and the process with
// the windows only sends messages, so that nothing blocks it.
//
//     node already-have.mjs INDEX FOLDER
//
// In Electron, start `index-worker.mjs` with `utilityProcess.fork` instead of `new Worker`: it takes
// messages from either.
import fs from 'node:fs/promises';
import path from 'node:path';
import { Worker } from 'node:worker_threads';
import { pathToFileURL } from 'node:url';

/** Talks to the worker: a promise for each request, and a way to cancel one. */
export class IndexClient {
  #worker;
  #waiting = new Map();
  #next = 0;

  constructor(folder) {
    this.#worker = new Worker(new URL('index-worker.mjs', import.meta.url), { argv: [folder] });
    this.#worker.on('message', ({ id, value, error }) => {
      const { resolve, reject } = this.#waiting.get(id);
      this.#waiting.delete(id);
      if (error) reject(Object.assign(new Error(error.message), { code: error.code }));
      else resolve(value);
    });
    const fail = (error) => {
      for (const { reject } of this.#waiting.values()) reject(error);
      this.#waiting.clear();
    };
    this.#worker.on('error', fail);
    this.#worker.on('exit', () => fail(new Error('the worker has ended')));
  }

  /** Asks the worker for something; the signal cancels it. */
  ask(method, params, signal) {
    const id = this.#next++;
    const answer = new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
    this.#worker.postMessage({ id, method, params });
    signal?.addEventListener('abort', () => this.#worker.postMessage({ cancel: id }), { once: true });
    return answer;
  }

  async close() {
    await this.ask('close');
    await this.#worker.terminate();
  }
}

/** Adds the files of a folder; tells each that is nearly the same as one before it. */
export async function scan(client, folder, tell) {
  let files = 0;
  for (const name of (await fs.readdir(folder)).sort()) {
    const text = await fs.readFile(path.join(folder, name), 'utf8');
    if (text.trim() === '') continue;
    const { duplicates } = await client.ask('add', { key: name, text });
    if (duplicates.length > 0) tell(`${name}: you already have this: ${duplicates[0].key}`);
    files += 1;
  }
  return files;
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const [index, folder] = process.argv.slice(2);
  if (!folder) throw new Error('usage: node already-have.mjs INDEX FOLDER');
  const client = new IndexClient(index);
  const files = await scan(client, folder, console.log);
  const { clusters } = await client.ask('clusters', { threshold: 0.8 });
  console.log(`${files} files, ${clusters} groups of near-copies`);
  await client.close();
}
