// The page at `/`: a search, its hits, two texts side by side, and the list of all documents.

// What the index takes: "text", "items" or "rows"; whether texts of documents can be read; the
// index's own threshold; and the largest file that a request can bring, as base64.
let kind = "text";
let readable = false;
let threshold = 0.7;
let fileBytesMax = 0;
// What was searched for last.
let asked = null;

// Tells the server what kind of index it has. Fails if it does not answer.
async function describe() {
  const { params, server, documents } = await ask("v1/stats");
  const external = params.scheme.startsWith("external");
  show("title", server.index);
  show("what", counted(documents, "document"));
  document.title = server.index + " - Nearkin";
  kind = external ? "rows" : params.shingles === "items" ? "items" : "text";
  readable = server.texts;
  ({ threshold } = params);
  fileBytesMax = (server.body_bytes_max / 4) * 3 - 1024;
  const names = {
    text: ["a text or a file", "A text"],
    items: ["a set, an item a line", "A set: an item a line"],
    rows: ["a signature", "The rows of a signature: numbers with blanks between"],
  };
  show("by-text-name", names[kind][0]);
  show("label", names[kind][1]);
  if (at("least").value === "") at("least").value = threshold;
  at("two-part").hidden = !readable;
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

// The address of this page with a search for what is like a document.
const searchFor = (key) => "#" + new URLSearchParams({ key });

// A key as a link to this search. A key that is not UTF-8 cannot be asked for here.
const keyLink = (key) =>
  typeof key === "string"
    ? make("a", { href: searchFor(key), title: "Find what is similar to this document" }, keyOf(key))
    : keyOf(keyText(key));

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
      keyLink(match.key),
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
  if (at("least").value !== "") body[at("how").value] = Number(at("least").value);
  const text = at("text").value;
  if (by === "key") body.key = at("key").value;
  else if (by === "items") body.items = lines(text);
  else if (by === "rows") body.rows = text.split(/[\s,]+/).filter(Boolean).map(Number);
  else body.text = text;
  return body;
}

// How much of a part must be contained.
const PART = 0.8;

const lines = (text) => text.split("\n").map((line) => line.trim()).filter(Boolean);

function summary(answer, took, contained) {
  const shown = answer.matches.length;
  const what =
    contained === undefined
      ? `similar to it by ${answer.threshold} or more`
      : `with ${contained} of the shorter text in the longer one, or more`;
  let said = answer.found === 0 ? `No document is ${what}` : `${counted(answer.found, "document")} ${what}`;
  if (contained !== undefined && !answer.found) said = `No document ${what}`;
  if (shown < answer.found) said += `; the first ${whole(shown)} are shown`;
  said += ` (${took.toFixed(1)} ms).`;
  if (answer.warning) said += ` Warning: ${answer.warning}.`;
  return said;
}

async function find() {
  at("go").disabled = true;
  at("said").className = "";
  emptied("pair").hidden = true;
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
      const { key } = answer.matches[0];
      const report = "report#" + new URLSearchParams({ key });
      const choice = make("a", { href: report }, "Choose which of them stay, in the report");
      put(at("matches"), table, readable && typeof key === "string" ? paragraph(choice) : null);
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

// Shows two texts side by side below the title.
function showPair(title, heads, texts) {
  const sets = kind === "items";
  const view = compared(...texts, { sets, foldEqual: true, cut: false });
  put(
    emptied("pair"),
    make("h3", { tabindex: "-1" }, title),
    paragraph(verdict(view, false, sets)),
    beside(heads, view),
  );
  at("pair").querySelector("h3").focus({ preventScroll: true });
}

// Does the work of a comparison, and shows why it fails.
async function inPair(work) {
  at("pair").hidden = false;
  try {
    await work();
  } catch (error) {
    put(emptied("pair"), make("p", { class: "bad" }, error.message));
  }
  at("pair").scrollIntoView({ block: "nearest" });
}

function compareWith(match, button) {
  for (const row of at("matches").querySelectorAll("tr.current")) row.classList.remove("current");
  button.closest("tr").classList.add("current");
  return inPair(async () => {
    const items = () => [...new Set(asked.items)].sort().join("\n");
    const own = asked.key === undefined ? asked.text ?? items() : await readText(asked.key);
    const left = asked.key === undefined ? "What you searched for" : keyOf(asked.key);
    const texts = [own, await readText(match.key)];
    showPair(`Similarity ${similar(match.similarity)}`, [left, keyOf(keyText(match.key))], texts);
  });
}

const compareTwo = (one, other) =>
  inPair(async () => {
    const texts = [await readText(one), await readText(other)];
    showPair("Two documents", [keyOf(one), keyOf(other)], texts);
  });

// The one box or the other.
function choose() {
  const byKey = at("by-key").checked;
  at("key").hidden = !byKey;
  at("text").hidden = byKey;
  at("hint").hidden = byKey;
  at("file-line").hidden = byKey || kind !== "text";
}

// What the number beside it means.
function chooseHow() {
  const part = at("how").value === "contained";
  show("least-name", part ? "Part of the shorter text, at least" : "Similarity, at least");
  at("least").value = part ? PART : threshold;
}

const listed = (contains, limit, after) =>
  ask("v1/documents?" + new URLSearchParams({ contains, limit, ...(after && { after }) }));

// Runs `work` once nothing was typed for a moment; `work` learns whether its answer is still wanted.
function afterTyping(input, work) {
  let [waiting, number] = [0, 0];
  at(input).addEventListener("input", () => {
    clearTimeout(waiting);
    number += 1;
    const own = number;
    waiting = setTimeout(() => work(() => own === number).catch(() => {}), 200);
  });
}

// Completes the names of documents.
function complete(input) {
  const names = at(input).list;
  afterTyping(input, async (isWanted) => {
    const { documents } = await listed(at(input).value, 20);
    const keys = documents.map(({ key }) => key).filter((key) => typeof key === "string");
    if (isWanted()) names.replaceChildren(...keys.map((value) => make("option", { value })));
  });
}

// The list of all documents, a page after the other.
async function list(isWanted, after) {
  const { documents, after: next } = await listed(at("contains").value, 20, after);
  if (!isWanted()) return;
  const rows = documents.map(({ key, time: ms }) =>
    rowWith(headCell(keyLink(key)), make("td", { class: "when" }, time(ms, 60 * SECOND))),
  );
  if (!after) {
    const heads = [["Document"], [make("span", null, "Added (UTC)")]];
    const table = tableOf({ class: "stored" }, unseenCaption("Documents by name"), heads, bodyOf([]));
    table.tHead.rows[0].cells[1].className = "when";
    emptied("all").append(table);
  }
  const body = at("all").querySelector("tbody");
  body.append(...rows);
  const old = at("all").querySelector(".more");
  if (old) old.remove();
  const first = rows[0] && rows[0].querySelector("a");
  if (after && first) first.focus();
  const shown = body.rows.length;
  show("all-said", shown ? `${counted(shown, "document")} ${next ? "so far" : "in all"}` : "No document has such a name.");
  // A key that is not UTF-8 ends the list here; clients that send its bytes can go on.
  if (typeof next === "string")
    at("all").append(buttonOf("Show more", { class: "more quiet" }, () => list(() => true, next)));
}

// Reads a file on the server, whatever its format is, and searches for its text.
async function open(file) {
  at("said").className = "";
  show("said", `Reading ${file.name} ...`);
  try {
    if (file.size > fileBytesMax)
      throw new Error(`${file.name} has ${byteCount(file.size)}; the server takes ${byteCount(fileBytesMax)} (--body-bytes-max).`);
    const bytes = await new Promise((done, failed) => {
      const reader = new FileReader();
      reader.onload = () => done(reader.result);
      reader.onerror = () => failed(reader.error);
      reader.readAsDataURL(file);
    });
    const content = { base64: bytes.slice(bytes.indexOf(",") + 1) };
    at("text").value = (await ask("v1/read", { name: file.name, content })).text;
    at("by-text").checked = true;
    choose();
    await find();
  } catch (error) {
    at("said").className = "bad";
    show("said", error.message);
  }
}

// What the address asks for: the search by a document, so that links and the way back work.
function follow() {
  const key = new URLSearchParams(location.hash.slice(1)).get("key");
  if (key === null) return;
  at("by-key").checked = true;
  at("key").value = key;
  choose();
  find();
  at("ask-title").scrollIntoView();
}

async function start() {
  try {
    await describe();
    choose();
    follow();
    await list(() => true);
  } catch (error) {
    at("said").className = "bad";
    show("said", "The server does not answer: " + error.message);
  }
}

theme();
at("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  find();
});
at("text").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) find();
});
at("how").addEventListener("change", chooseHow);
at("try-part").addEventListener("click", () => {
  at("how").value = "contained";
  chooseHow();
  find();
});
at("file").addEventListener("change", () => {
  if (at("file").files.length) open(at("file").files[0]);
});
for (const name of ["dragover", "drop"]) {
  at("ask").addEventListener(name, (event) => {
    if (kind !== "text" || !event.dataTransfer.types.includes("Files")) return;
    event.preventDefault();
    if (event.dataTransfer.files.length) open(event.dataTransfer.files[0]);
  });
}
at("two").addEventListener("submit", (event) => {
  event.preventDefault();
  compareTwo(at("one").value, at("other").value);
});
at("filter").addEventListener("submit", (event) => event.preventDefault());
["key", "one", "other"].forEach(complete);
afterTyping("contains", (isWanted) => list(isWanted));
for (const id of ["by-text", "by-key"]) at(id).addEventListener("change", choose);
addEventListener("hashchange", follow);
choose();
start();
