// The page at `/status`: the state of the index and of the server, in numbers.

// The last answer of the counters, for a rate.
let before = null;

async function poll() {
  try {
    const { server, params, ...stats } = await ask("v1/stats");
    const now = performance.now();
    show("title", server.index);
    document.title = server.index + " - Nearkin";
    const kind = params.scheme.startsWith("external") ? params.scheme : params.shingles;
    show("what", `${kind}, threshold ${params.threshold}, ${params.hashes} hashes`);
    for (const id of ["documents", "segments", "dead", "change"]) show(id, whole(stats[id]));
    show("memtable", whole(stats.memtable_documents));
    show("disk", byteCount(stats.bytes_on_disk));
    show("requests", whole(server.requests));
    if (before) {
      // This page's own request does not count.
      const others = Math.max(0, server.requests - before.requests - 1);
      const rate = (others * 1000) / (now - before.at);
      show("rate", rate < 10 ? rate.toFixed(1) : whole(Math.round(rate)));
    }
    before = { requests: server.requests, at: now };
    const since = Date.now() - 1000 * server.uptime_seconds;
    show("fresh", `Updated every two seconds. Up since ${time(since, 60 * SECOND)} UTC.`);
    const failure = stats.maintenance_failure;
    show("trouble", failure ? "Maintenance failed: " + failure : "");
  } catch (error) {
    before = null;
    show("rate", "...");
    show("fresh", "");
    show("trouble", "The server does not answer: " + error.message);
  }
  setTimeout(poll, document.hidden ? 10000 : 2000);
}

theme();
poll();
