// A program without standard streams loses nothing.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import test from 'node:test';
import { fileURLToPath } from 'node:url';
import { Index } from 'nearkin';

const HOST = fileURLToPath(new URL('plain/host.cjs', import.meta.url));
const skip = process.platform === 'win32' && 'Windows has no descriptors: see DURABILITY.md';

for (const how of ['inherited', 'closed']) {
  test(`no file of the index takes the place of a standard stream: ${how}`, { skip }, async () => {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'nearkin-streams-'));
    const command = 'exec "$0" "$@" 0<&- 1>&- 2>&-';
    const run = () => execFileSync('sh', ['-c', command, process.execPath, HOST, folder, how], { stdio: 'ignore' });
    assert.throws(run, { signal: 'SIGKILL' });
    const seen = JSON.parse(fs.readFileSync(path.join(folder, 'seen'), 'utf8'));
    assert.deepEqual(seen.filter((target) => target.startsWith(fs.realpathSync(folder))), []);
    for (const [name, documents] of [['index', 10], ['copy', 5]]) {
      const index = await Index.open(path.join(folder, name));
      assert.equal(index.size, documents);
      assert.deepEqual((await index.verify()).problems, []);
      await index.close();
    }
    fs.rmSync(folder, { recursive: true });
  });
}
