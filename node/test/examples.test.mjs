// The programs in `examples/`, on the texts in tests/data.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import test from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Index } from 'nearkin';
import { IndexClient } from '../examples/already-have.mjs';
import { service } from '../examples/uploads.mjs';

const run = promisify(execFile);
const of = (name) => fileURLToPath(new URL(name, import.meta.url));
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'nearkin-examples-'));
test.after(() => fs.rmSync(folder, { recursive: true }));

const licences = fs.readFileSync(of('../../tests/data/spdx.jsonl'), 'utf8').trim().split('\n')
  .map((line) => JSON.parse(line));
const exact = fs.readFileSync(of('../../tests/data/spdx.word3.tsv'), 'utf8').trim().split('\n')
  .map((line) => line.split('\t'));

test('the upload service turns near-copies away, for each tenant', async () => {
  const app = await service(path.join(folder, 'uploads'));
  const put = (url, body) =>
    app.inject({ method: 'PUT', url, headers: { 'content-type': 'text/plain' }, body });
  const refused = new Set();
  for (const { id, text } of licences) {
    const { statusCode } = await put(`/acme/${encodeURIComponent(id)}`, text);
    if (statusCode === 409) refused.add(id);
    else assert.equal(statusCode, 201);
  }
  // The true similarities: no licence is refused without one that is like it, and copies all are.
  const near = (least) => exact.filter(([, , similarity]) => Number(similarity) >= least);
  const mates = new Set(near(0.8).flatMap(([a, b]) => [a, b]));
  for (const id of refused) assert.ok(mates.has(id), id);
  const copies = near(0.97);
  assert.ok(copies.length > 5);
  for (const [a, b] of copies) assert.ok(refused.has(a) || refused.has(b), `${a} and ${b}`);
  const mit = licences.find(({ id }) => id === 'MIT').text;
  const again = await put('/acme/copy', mit.toUpperCase());
  assert.equal(again.statusCode, 409);
  assert.ok(again.json().duplicates[0].similarity > 0.9);
  assert.equal((await put('/other/copy', mit)).statusCode, 201);
  const similar = await app.inject({
    method: 'POST', url: '/other/similar', headers: { 'content-type': 'text/plain' }, body: mit,
  });
  assert.deepEqual(similar.json().matches, [{ name: 'copy', similarity: 1 }]);
  assert.equal((await put('/acme/blank', ' \n')).statusCode, 422);
  assert.equal((await put('/acme/empty', '')).statusCode, 422);
  assert.equal((await app.inject({ method: 'DELETE', url: '/other/copy' })).statusCode, 204);
  assert.equal((await app.inject({ method: 'DELETE', url: '/other/copy' })).statusCode, 404);
  await app.close();
});

test('the upload service keeps what it accepted after SIGTERM', async (t) => {
  if (process.platform === 'win32') return t.skip('no SIGTERM');
  const start = async () => {
    const server = spawn(process.execPath, [of('../examples/uploads.mjs'), path.join(folder, 'ended'), '0']);
    server.stderr.pipe(process.stderr);
    const [line] = await Promise.race([
      new Promise((resolve) => server.stdout.once('data', (data) => resolve([String(data).trim()]))),
      new Promise((_, reject) => server.once('exit', (code) => reject(new Error(`ended: ${code}`)))),
    ]);
    const ended = new Promise((resolve) => server.once('exit', (code) => resolve(code)));
    return { url: line, stop: () => (server.kill('SIGTERM'), ended) };
  };
  const put = (url) =>
    fetch(`${url}/acme/1`, { method: 'PUT', headers: { 'content-type': 'text/plain' }, body: licences[0].text });
  const first = await start();
  assert.equal((await put(first.url)).status, 201);
  assert.equal(await first.stop(), 0);
  const second = await start();
  const told = await (await put(second.url)).json();
  assert.equal(told.decision, 'unchanged');
  assert.equal(await second.stop(), 0);
});

test('workers of a cluster write to one index, and accept each text once', async (t) => {
  if (process.platform === 'win32') return t.skip('no SIGTERM');
  const at = path.join(folder, 'cluster');
  const server = spawn(process.execPath, [of('../examples/cluster.mjs'), at, '0', '3']);
  server.stderr.pipe(process.stderr);
  const [, port] = /listening on (\d+)/.exec(await new Promise((resolve) => server.stdout.once('data', resolve)));
  const url = (key) => `http://127.0.0.1:${port}/${key}`;
  const put = (key, body) => fetch(url(key), { method: 'PUT', body, headers: { connection: 'close' } });
  const texts = licences.slice(0, 12).map(({ text }, number) => `${number} ${text}`);
  const all = texts.flatMap((body, number) => ['a', 'b', 'c'].map((copy) => put(`${number}${copy}`, body)));
  const told = (await Promise.all(all)).map(({ status }) => status);
  assert.ok(told.every((status) => status === 201 || status === 409), told.join());
  for (let number = 0; number < texts.length; number++) {
    const accepted = told.slice(3 * number, 3 * number + 3).filter((status) => status === 201);
    assert.ok(accepted.length <= 1, `text ${number}: ${told}`);
  }
  const { documents } = await (await fetch(url('x'))).json();
  assert.equal(documents, told.filter((status) => status === 201).length);
  const ended = new Promise((resolve) => server.once('exit', resolve));
  server.kill('SIGTERM');
  assert.equal(await ended, 0);
  const index = await Index.open(at);
  assert.equal(index.size, documents);
  await index.close();
});

test('the desktop program says what one already has', async () => {
  const texts = path.join(folder, 'texts');
  fs.mkdirSync(texts);
  for (const { id, text } of licences) fs.writeFileSync(path.join(texts, `${id}.txt`), text);
  fs.copyFileSync(path.join(texts, 'MIT.txt'), path.join(texts, 'my-licence.txt'));
  const program = of('../examples/already-have.mjs');
  const { stdout } = await run(process.execPath, [program, path.join(folder, 'have'), texts]);
  assert.match(stdout, /^my-licence\.txt: you already have this: MIT\.txt$/m);
  assert.match(stdout, /^451 files, \d+ groups of near-copies$/m);
});

test('the worker cancels requests, and reports errors by code', async () => {
  const client = new IndexClient(path.join(folder, 'cancelled'));
  const { text } = licences[3];
  for (let number = 0; number < 400; number++) await client.ask('add', { key: `k${number}`, text });
  const controller = new AbortController();
  const asked = client.ask('pairs', { threshold: 0.8 }, controller.signal);
  controller.abort();
  await assert.rejects(asked, { code: 'ABORT_ERR' });
  assert.deepEqual(await client.ask('pairs', { threshold: 0.8 }), { pairs: (400 * 399) / 2 });
  await assert.rejects(client.ask('add', { key: 'k', text: ' ' }), { code: 'NEARKIN_EMPTY' });
  await client.close();
});
