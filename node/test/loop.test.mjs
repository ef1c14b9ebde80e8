// The event loop is not blocked, and memory does not grow.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import test from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Index, Params } from 'nearkin';

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'nearkin-loop-'));
test.after(() => fs.rmSync(folder, { recursive: true }));

const COUNT = 100_000;
/** A text of its own for every number, of twelve words. */
function text(number) {
  return Array.from({ length: 12 }, (_, at) => `w${Math.imul(number + 1, 40503 + at * 7919) >>> 12}`)
    .join(' ');
}

test('the event loop goes on while 100,000 documents are compared', async () => {
  const program = path.join(import.meta.dirname ?? new URL('.', import.meta.url).pathname, 'plain');
  const run = promisify(execFile);
  const { stdout } = await run(process.execPath, ['--expose-gc', path.join(program, 'loop.mjs')]);
  console.log(stdout.trim());
  assert.match(stdout, /pairs of 100,000/);
});

test('100,000 inserts and queries do not let memory grow', async (t) => {
  if (!globalThis.gc) return t.skip('needs node --expose-gc');
  const options = { durability: 'os', memtableBytes: 1 << 20 };
  const index = await Index.create(path.join(folder, 'memory'), new Params(), options);
  const texts = Array.from({ length: 2_000 }, (_, number) => text(number));
  /** Replaces documents of 1,000 keys, and asks for them; promises and twins take turns. */
  const round = async (count) => {
    for (let at = 0; at < count; at += 100) {
      const numbers = Array.from({ length: 100 }, (_, one) => at + one);
      const payload = Buffer.alloc(100, at);
      await Promise.all(numbers.map((number) =>
        index.insert(`k${number % 1_000}`, texts[number % 2_000], { payload })));
      const answers = await Promise.all(numbers.map((number) =>
        number % 2 ? index.query(texts[number % 2_000]) : index.querySync(texts[number % 2_000])));
      assert.ok(answers.every(({ matches }) => matches.length === 1));
      index.writeSync([{ key: 'k0', document: texts[at % 2_000], payload }]);
    }
  };
  const memory = async () => {
    for (let turn = 0; turn < 4; turn++) {
      globalThis.gc();
      await sleep(20);
    }
    return process.memoryUsage();
  };
  await round(30_000);
  const grown = [];
  // The allocator may take memory once; a leak takes it every time.
  do {
    const before = await memory();
    await round(COUNT);
    const after = await memory();
    const told = (name) => (after[name] - before[name]) / (1 << 20);
    grown.push({ heap: told('heapUsed'), external: told('external'), all: told('rss') });
  } while (grown.at(-1).all >= 4 && grown.length < 5);
  for (const { heap, external, all } of grown) {
    console.log(`heap ${heap.toFixed(1)}, buffers ${external.toFixed(1)}, all ${all.toFixed(1)} MiB more`);
  }
  const { heap, external, all } = grown.at(-1);
  assert.ok(heap < 2, 'objects of JavaScript are kept');
  assert.ok(external < 2, 'buffers are kept');
  assert.ok(all < 4, 'memory outside of JavaScript is kept');
  await index.close();
});
