// A service on all processors: each worker of `node:cluster` writes to the same index.
//
//     node cluster.mjs FOLDER [PORT] [WORKERS]
//     curl -X PUT localhost:3000/1 --data 'The ferry was cancelled after the harbour froze'
//     curl localhost:3000/1
//
// A text is accepted unless a near-copy is there: of equal texts that reach several workers at one
// moment, exactly one is accepted. A worker that dies is replaced, and loses nothing that it answered.
import cluster from 'node:cluster';
import http from 'node:http';
import { text } from 'node:stream/consumers';
import { Index, Params } from 'nearkin';

const [folder, port = '3000', workers = '4'] = process.argv.slice(2);

async function work() {
  const index = await Index.open(folder, new Params({ threshold: 0.8 }), { shared: true, lockWaitMs: 10_000 });
  const server = http.createServer(async (request, response) => {
    const answer = (status, body) => response.writeHead(status).end(JSON.stringify(body));
    try {
      const key = request.url.slice(1);
      if (request.method === 'PUT') {
        const { decision, duplicates } = await index.admit(key, await text(request));
        answer(decision === 'admitted' ? 201 : 409, { like: duplicates.map((match) => match.key) });
      } else {
        await index.refresh(); // what other workers have accepted until now
        answer((await index.has(key)) ? 200 : 404, { documents: index.size });
      }
    } catch (error) {
      answer(500, { error: error.message });
    }
  });
  process.once('SIGTERM', () => cluster.worker.disconnect()); // ends when all requests are answered
  process.once('disconnect', () => index.close());
  server.listen(Number(port), () => process.send({ port: server.address().port }));
}

if (cluster.isPrimary) {
  let isEnding = false;
  for (let number = 0; number < Number(workers); number++) cluster.fork();
  cluster.on('exit', () => isEnding || cluster.fork());
  cluster.on('message', (_, { port: at }) => console.log(`listening on ${at}`));
  process.once('SIGTERM', () => {
    isEnding = true;
    cluster.disconnect();
  });
} else {
  await work();
}
