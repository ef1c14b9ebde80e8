// The page at `/`: a search, its hits, two texts side by side, and the state of the server.

const show = (id, text) => {
  if (at(id).textContent !== text) at(id).textContent = text;
};
// What the index takes: "text", "items" or "rows"; whether texts of documents can be read.
let kind = "text";
let readable = false;
// The last answer of the counters, for a rate; and what was searched for last.
let before = null;
let asked = null;
// Whether the threshold is the user's choice, not the index's own.
let thresholdChosen = false;

// Paths are relative: a proxy may show the server below a path of its own.
async function ask(path, body) {
  const headers = { "content-type": "application/json" };
  const sent = body && { method: "POST", headers, body: JSON.stringify(body) };
  const response = await fetch(path, sent);
  const answer = await response.json();
  if (!response.ok) {
    const { kind: what, message, advice } = answer.error;
    if (what === "empty") throw new Error("There is nothing to compare in this text.");
    throw new Error(advice ? message + " (" + advice + ")" : message);
  }
  return answer;
}

function describe({ params, server }) {
  const external = params.scheme.startsWith("external");
  const what = external ? params.scheme : params.shingles;
  show("what", `${what}, threshold ${params.threshold}, ${params.hashes} hashes`);
  show("title", server.index);
  document.title = server.index + " - Nearkin";
  kind = external ? "rows" : params.shingles === "items" ? "items" : "text";
  readable = server.texts;
  const names = {
    text: ["a text", "A text"],
    items: ["a set, an item a line", "A set: an item a line"],
    rows: ["a signature", "The rows of a signature: numbers with blanks between"],
  };
  show("by-text-name", names[kind][0]);
  show("label", names[kind][1]);
  if (at("threshold").value === "") at("threshold").value = params.threshold;
}

async function poll() {
  try {
    const stats = await ask("v1/stats");
    const now = performance.now();
    describe(stats);
    for (const id of ["documents", "segments", "dead", "change"]) show(id, whole(stats[id]));
    show("memtable", whole(stats.memtable_documents));
    show("disk", byteCount(stats.bytes_on_disk));
    show("requests", whole(stats.server.requests));
    if (before) {
      // This page's own request does not count.
      const others = Math.max(0, stats.server.requests - before.requests - 1);
      const rate = (others * 1000) / (now - before.at);
      show("rate", rate < 10 ? rate.toFixed(1) : whole(Math.round(rate)));
    }
    before = { requests: stats.server.requests, at: now };
    const since = Date.now() - 1000 * stats.server.uptime_seconds;
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

const keyText = (key) => (typeof key === "string" ? key : "base64 " + key.base64);
const BYTES_SHOWN = 600;
// How the notes begin that `nearkin mirror` keeps about a file as the payload of its document.
const MIRROR = /^NKM[0-9]/;
// What a person wants to see of a payload: a text as far as it is shown, and of other bytes how many
// there are.
function payloadText(payload) {
  const isText = typeof payload === "string";
  const text = isText ? payload : atob(payload.base64);
  if (MIRROR.test(text) && (!isText || text.includes("\u0000"))) return "";
  if (!isText) return counted(text.length, "byte") + ", no text";
  return text.length > BYTES_SHOWN ? text.slice(0, BYTES_SHOWN) + "..." : text;
}

function hit(match) {
  const bar = make("span");
  bar.style.inlineSize = 100 * match.similarity + "%";
  const label = { class: "quiet small", "aria-label": `Compare with ${keyText(match.key)}` };
  const compare = buttonOf("Compare", label, () => compareWith(match, compare));
  const payload = match.payload == null ? "" : payloadText(match.payload);
  return rowWith(
    numberCell(
      make("span", { class: "track", "aria-hidden": "true" }, bar),
      similar(match.similarity),
      make("small", null, " \u00b1" + match.standard_error.toFixed(3)),
    ),
    make(
      "td",
      null,
      keyOf(keyText(match.key)),
      payload === "" ? null : make("span", { class: "payload" }, payload),
    ),
    make("td", { class: "when" }, time(match.time, 60 * SECOND)),
    readable ? make("td", null, compare) : null,
  );
}

// What is searched for, as the server takes it.
function question() {
  const by = at("by-key").checked ? "key" : kind;
  const body = { limit: Number(at("limit").value), payloads: true };
  if (at("contained").value !== "") body.contained = Number(at("contained").value);
  // Of parts, the index's own threshold would find few.
  if (at("threshold").value !== "" && (body.contained === undefined || thresholdChosen))
    body.threshold = Number(at("threshold").value);
  const text = at("text").value;
  if (by === "key") body.key = at("key").value;
  else if (by === "items") body.items = lines(text);
  else if (by === "rows")
    body.rows = text.split(/[\s,]+/).filter(Boolean).map(Number);
  else body.text = text;
  return body;
}

// How much of a part must be contained, and how large a file may be that is opened.
const PART = 0.8;
const FILE_BYTES_MAX = 4 << 20;

const lines = (text) => text.split("\n").map((line) => line.trim()).filter(Boolean);

function summary(answer, took, contained) {
  const shown = answer.matches.length;
  const what =
    contained === undefined
      ? `of estimated similarity ${answer.threshold} or more`
      : `of which the longer text contains ${contained} of the shorter one or more`;
  let said = answer.found === 0 ? `Nothing ${what}` : `${counted(answer.found, "document")} ${what}`;
  if (shown < answer.found) said += `, the first ${whole(shown)} shown`;
  said += ` (${took.toFixed(1)} ms).`;
  if (answer.warning) said += ` Warning: ${answer.warning}.`;
  return said;
}

async function find() {
  at("go").disabled = true;
  at("said").className = "";
  at("pair").hidden = true;
  at("part").hidden = true;
  at("matches").replaceChildren();
  try {
    const body = question();
    const began = performance.now();
    const answer = await ask("v1/query", body);
    show("said", summary(answer, performance.now() - began, body.contained));
    at("part").hidden = answer.found > 0 || body.contained !== undefined || kind === "rows";
    asked = body;
    if (answer.matches.length) {
      const heads = [["Similarity"], ["Document"], [make("span", null, "Added (UTC)")]];
      if (readable) heads.push(["Texts"]);
      const caption = "Most similar first, each with the standard error of its estimate";
      const body = bodyOf(answer.matches.map(hit));
      const table = tableOf({ class: "hits" }, unseenCaption(caption), heads, body);
      table.tHead.rows[0].cells[2].className = "when";
      at("matches").append(table);
    }
  } catch (error) {
    at("said").className = "bad";
    show("said", error.message);
  }
  at("go").disabled = false;
}

const textPath = (key) => "v1/texts/" + encodeURIComponent(key);

// The text of a stored document, as the server reads it again.
async function readText(key) {
  if (typeof key !== "string") throw new Error("A key that is not UTF-8 cannot be asked for here.");
  return (await ask(textPath(key))).text;
}

async function compareWith(match, button) {
  const holder = emptied("pair");
  holder.hidden = false;
  for (const row of at("matches").querySelectorAll("tr.current")) row.classList.remove("current");
  button.closest("tr").classList.add("current");
  try {
    const own =
      asked.key === undefined
        ? asked.text === undefined
          ? [...new Set(asked.items)].sort().join("\n")
          : asked.text
        : await readText(asked.key);
    const other = await readText(match.key);
    const sets = kind === "items";
    const view = compared(own, other, { sets, foldEqual: true, cut: false });
    const left = asked.key === undefined ? "What you searched for" : keyOf(asked.key);
    put(
      holder,
      make("h3", { tabindex: "-1" }, `Similarity ${similar(match.similarity)}`),
      paragraph(verdict(view, false, sets)),
      beside([left, keyOf(keyText(match.key))], view),
    );
    holder.querySelector("h3").focus({ preventScroll: true });
  } catch (error) {
    put(holder, make("p", { class: "bad" }, error.message));
  }
  holder.scrollIntoView({ block: "nearest" });
}

// The one box or the other.
function choose() {
  const byKey = at("by-key").checked;
  at("key").hidden = !byKey;
  at("text").hidden = byKey;
  at("hint").hidden = byKey;
  at("file-line").hidden = byKey;
}

theme();
at("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  find();
});
at("text").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) find();
});
at("threshold").addEventListener("input", () => {
  thresholdChosen = true;
});
at("try-part").addEventListener("click", () => {
  at("contained").value = PART;
  find();
});
at("file").addEventListener("change", async () => {
  const [file] = at("file").files;
  if (!file) return;
  const text = await file.text();
  // What is not a text would be searched for as rubbish.
  const isText = file.size <= FILE_BYTES_MAX && !text.includes("\u0000") && !text.includes("\ufffd");
  at("said").className = isText ? "" : "bad";
  show("said", isText ? "" : `${file.name} is not a text in UTF-8, or is larger than 4 MiB: paste its text.`);
  if (!isText) return;
  at("text").value = text;
  find();
});
for (const id of ["by-text", "by-key"]) at(id).addEventListener("change", choose);
choose();
poll();
