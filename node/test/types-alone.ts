// Compiled without `@types/node` and without the library of browsers: the types need no other package.
import { Index, Params, Reader } from 'nearkin';
import type { Match, NodeBuffer, Signal } from 'nearkin';

export async function program(signal: Signal): Promise<number> {
  const index = await Index.open('none', new Params(), { keys: 'buffer' });
  await index.insert(new Uint8Array(3), 'the ferry', { payload: new Uint8Array(1), signal });
  const all: Match<NodeBuffer>[] = (await index.query('the ferry', { limit: 3, signal })).matches;
  const key: NodeBuffer = all[0].key;
  for await (const { a, b } of index.pairs({ signal })) if (a.length < b.length) break;
  const snapshot = index.snapshot();
  await snapshot[Symbol.asyncDispose]();
  // @ts-expect-error: a path is no number
  const reader = Reader.openSync(5);
  reader[Symbol.dispose]();
  return key.length;
}
