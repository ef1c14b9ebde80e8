// An upload service: texts are accepted unless a near-copy is there already.
//
//     node uploads.mjs FOLDER [PORT]
//     curl -X PUT localhost:3000/acme/1 -H 'content-type: text/plain' --data 'The ferry was ...'
//     curl -X POST localhost:3000/acme/similar -H 'content-type: text/plain' --data 'the ferry was'
//
// Each tenant sees its own part of the index: keys are TENANT/NAME. A request whose client has gone
// stops its search. SIGTERM completes the requests that run, and closes the index.
import fastify from 'fastify';
import { Index, Params } from 'nearkin';

const REJECT = 0.9;
const RELATE = 0.5;
const MATCHES_MAX = 10;
const DEADLINE_MS = 2_000;

/** The status of an HTTP answer for a failed call; what is not named is a fault of the server. */
const STATUS = { NEARKIN_INVALID: 400, NEARKIN_EMPTY: 422, NEARKIN_CLOSED: 503, ABORT_ERR: 499 };

/** A signal that is triggered when the client goes before it was answered. */
function whileConnected(request, reply) {
  const controller = new AbortController();
  reply.raw.once('close', () => {
    if (!reply.raw.writableEnded) controller.abort();
  });
  return controller.signal;
}

function shown(prefix, { key, similarity }) {
  return { name: key.slice(prefix.length), similarity: Number(similarity.toFixed(3)) };
}

/** The service over an index in `folder`. */
export async function service(folder) {
  const index = await Index.open(folder, new Params({ threshold: RELATE }));
  const app = fastify({ bodyLimit: 1 << 20 });
  app.addContentTypeParser('text/plain', { parseAs: 'string' }, async (_, body) => body);
  app.setErrorHandler((error, _, reply) => {
    const status = STATUS[error.code] ?? error.statusCode ?? 500;
    if (status >= 500) console.error(error);
    reply.code(status).send({ error: error.message, code: error.code });
  });

  app.put('/:tenant/:name', async (request, reply) => {
    const { tenant, name } = request.params;
    const [prefix, signal] = [`${tenant}/`, whileConnected(request, reply)];
    const terms = { reject: REJECT, relate: RELATE, prefix, limit: MATCHES_MAX, signal };
    const told = await index.admit(prefix + name, request.body ?? '', { ...terms, deadlineMs: DEADLINE_MS });
    reply.code(told.decision === 'rejected' ? 409 : 201);
    return {
      decision: told.decision,
      duplicates: told.duplicates.map((match) => shown(prefix, match)),
      related: told.related.map((match) => shown(prefix, match)),
    };
  });

  app.post('/:tenant/similar', async (request, reply) => {
    const [prefix, signal] = [`${request.params.tenant}/`, whileConnected(request, reply)];
    const bounds = { limit: MATCHES_MAX, deadlineMs: DEADLINE_MS, prefix, signal };
    const { matches, complete } = await index.query(request.body ?? '', bounds);
    return { matches: matches.map((match) => shown(prefix, match)), complete };
  });

  app.delete('/:tenant/:name', async (request, reply) => {
    const { tenant, name } = request.params;
    return reply.code((await index.remove(`${tenant}/${name}`)) ? 204 : 404).send();
  });

  app.addHook('onClose', () => index.close());
  return app;
}

if (process.argv[1] && import.meta.url === (await import('node:url')).pathToFileURL(process.argv[1]).href) {
  const [folder, port = '3000'] = process.argv.slice(2);
  if (!folder) throw new Error('usage: node uploads.mjs FOLDER [PORT]');
  const app = await service(folder);
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => app.close());
  console.log(await app.listen({ port: Number(port) }));
}
