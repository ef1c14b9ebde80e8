// Compiled with `tsc --strict` against the installed package, and run. Each `@ts-expect-error` is an
// error that the types must find.
import { AbortError, Index, NearkinError, Params, Reader, Sketcher, exists } from 'nearkin';
import type { Admission, Answer, Cluster, ErrorCode, Outcome, Pair, Signature } from 'nearkin';

const params = new Params({ threshold: 0.7, shingles: 'words:3', bands: [16, 8], seed: 7n });
const index: Index = Index.temporary(params);
const bytes: Index<Buffer> = Index.temporary(params, { keys: 'buffer', durability: 100 });

async function program(): Promise<void> {
  const outcome: Outcome = await index.insert('a', 'the ferry was cancelled', { time: new Date() });
  const answer: Answer = await index.query('the ferry was cancelled', { limit: 3 });
  const key: string = answer.matches[0].key;
  const shown: Buffer | undefined = (await bytes.query('the ferry')).matches[0]?.key;
  const signature: Signature | undefined = (await index.get(key))?.signature;
  const admission: Admission = await index.admit('b', signature!, { keep: 'newest', reject: 0.9 });
  for await (const pair of index.pairs({ signal: AbortSignal.timeout(1000) })) {
    const { a, similarity }: Pair = pair;
    console.log(a, similarity);
  }
  for await (const cluster of bytes.clusters({ prefix: 'a', after: new Date(0), limit: 10 })) {
    const { keys }: Cluster<Buffer> = cluster;
    console.log(keys[0].length);
  }
  for (const one of index.keysSync({ prefix: 'a' })) console.log(one.toUpperCase());
  try {
    const reader: Reader<Buffer> = await Reader.open('none', { keys: 'buffer' });
    await reader.close();
  } catch (error) {
    if (error instanceof NearkinError) {
      const code: ErrorCode = error.code;
      console.log(code, error instanceof AbortError);
    }
  }
  const sketches: (Signature | null)[] = new Sketcher(params).textsSync(['a', '']);
  console.log(outcome, shown, admission.decision, sketches.length, await exists('none'));
  await index.close();
}

function wrong(reader: Reader): void {
  // @ts-expect-error: no such option
  void index.query('text', { treshold: 0.5 });
  // @ts-expect-error: pairs compare all documents
  index.pairs({ maxCandidates: 10 });
  // @ts-expect-error: a removal or a document must be named
  void index.write([{ key: 'a' }]);
  // @ts-expect-error: a key is no number
  void index.has(5);
  // @ts-expect-error: a reader does not write
  void reader.insert('a', 'text');
  // @ts-expect-error: keys of this index are strings
  const key: Buffer = index.querySync('text').matches[0].key;
  // @ts-expect-error: no such way to keep
  void index.admit('a', 'text', { keep: 'best' });
  void key;
}

void wrong;
void program();
