// The documents of a cluster, and two of them side by side.

// The cluster that is open, and its two documents that are compared.
const pair = { cluster: null, left: 0, right: 1, fold: true };

// The estimate of the similarity, and one standard error of it, from equal rows.
const estimate = (equal) =>
  Math.max(0, (equal / data.hashes - data.collision) / (1 - data.collision));
function standardError(equal) {
  const share = (equal + 1) / (data.hashes + 2);
  return Math.sqrt((share * (1 - share)) / data.hashes) / (1 - data.collision);
}

function equalRows(cluster, one, other) {
  const [low, high] = [Math.min(one, other), Math.max(one, other)];
  return low === high ? data.hashes : cluster.rows[(high * (high - 1)) / 2 + low];
}

// What is shown of a document besides its key.
const hasFiles = data.clusters.some(({ documents }) => documents.some(({ bytes }) => bytes != null));
const FACTS = hasFiles
  ? [
      ["Size", ({ bytes }) => bytes == null ? null : byteCount(bytes)],
      ["Changed (UTC)", ({ modified }) => modified == null ? null : time(modified, 60 * SECOND)],
      ["Characters", ({ length }) => length == null ? null : whole(length)],
    ]
  : [["Added (UTC)", (document) => time(document.time, SECOND)]];

function members() {
  const { cluster, left, right } = pair;
  const facts = FACTS.filter(([, fact]) => cluster.documents.some((document) => fact(document) != null));
  const rows = cluster.documents.map((document, place) => {
    const compare = () => {
      pair.right = place;
      showPair();
      at("pair").querySelector("h4").focus();
    };
    const label = { "aria-label": `Compare with ${document.key}`, disabled: place === left };
    const file = fileOf(document);
    const name = keyOf(document.key);
    const alike = place === left ? "this one" : similar(estimate(equalRows(cluster, left, place)));
    const keep = { "aria-label": `Keep only this: ${document.key}` };
    return make(
      "tr",
      { class: place === left || place === right ? "current" : null },
      make("td", { class: "number", "data-name": place === left ? null : "similarity" }, alike),
      headCell(
        file ? make("a", { href: file, ...ELSEWHERE }, name) : name,
        document.text === "changed" ? make("small", null, " (changed since)") : null,
      ),
      facts.map(([name, fact]) => make("td", { class: "number", "data-name": name }, fact(document) ?? "-")),
      make(
        "td",
        { class: "acts" },
        buttonOf("Compare", { class: "quiet small", ...label }, compare),
        " ",
        buttonOf("Keep only this", { class: "quiet small", ...keep }, () => keepOnly(place)),
      ),
      make("td", { class: "tick" }, removalBox(place)),
    );
  });
  const heads = [
    ["Similarity", true],
    ["Document"],
    ...facts.map(([name]) => [name, true]),
    [make("span", { class: "unseen" }, "Compare or keep")],
    ["Remove"],
  ];
  const caption = unseenCaption(
    "Documents of this cluster, and their similarity to the one on the left side",
  );
  at("members").replaceChildren(tableOf({ class: "members" }, caption, heads, bodyOf(rows)));
  showRemovals();
}

// A link that opens beside the page, and does not say from where.
const ELSEWHERE = { target: "_blank", rel: "noopener noreferrer", title: "Open the file" };

// The address of the file of a document: only where this page itself was opened from a disk. Each
// part of the path is encoded, so that no key can lead to another host or kind of address.
function fileOf({ key, file }) {
  if (!file || location.protocol !== "file:") return null;
  const base = key.startsWith("/") ? "file:///" : data.files;
  return base + key.split("/").filter(Boolean).map(encodeURIComponent).join("/");
}

// Why a text is not here.
function absent(document) {
  const { texts_asked: asked, texts_possible: possible, sets } = data.shown;
  if (!possible) return "its signature was made elsewhere, so this page cannot read it again";
  if (document.text === "changed")
    return "it has changed since it was added; add it again to compare it";
  if (document.text === "missing")
    return "it was not found by its key; make the page with --from FILE.jsonl, which holds the texts";
  if (asked)
    return "the page has room for a limited amount of text; with a smaller --clusters there is more for each";
  return sets
    ? "this page was made without the sets; --from FILE.jsonl puts them in"
    : "this page was made without texts";
}

function showPair() {
  const { cluster, left, right } = pair;
  at("left").value = left;
  at("right").value = right;
  members();
  const [a, b] = [cluster.documents[left], cluster.documents[right]];
  const equal = equalRows(cluster, left, right);
  const title = make(
    "h4",
    { tabindex: "-1" },
    left === right ? "The same document twice" : `Similarity ${similar(estimate(equal))}`,
  );
  const below =
    estimate(equal) < data.threshold - 1e-9
      ? ` That is below ${plain(data.threshold)}: other documents between them link the two.`
      : "";
  const facts = paragraph(
    `An estimate, give or take ${similar(standardError(equal))}: ${whole(equal)} of the ` +
      `${whole(data.hashes)} numbers that the index has of each document are equal.${below}`,
  );
  put(emptied("pair"), title, facts, sides(a, b));
  say(`${title.textContent}: ${a.key} and ${b.key}`);
}

function sides(a, b) {
  const held = (document) => document.text && typeof document.text === "object";
  if (!held(a) || !held(b)) {
    return [a, b]
      .filter((document, place, both) => !held(document) && both.indexOf(document) === place)
      .map((document) => {
        const why = [": ", absent(document), "."];
        return make("p", { class: "note absent" }, "No text of ", keyOf(document.key), why);
      });
  }
  const [left, right] = [data.texts[a.text.at], data.texts[b.text.at]];
  const { sets } = data.shown;
  const cut = [left, right].some((text) => text.cut);
  const view = compared(left.text, right.text, { sets, foldEqual: pair.fold, cut });
  const parts = [paragraph(verdict(view, cut, sets))];
  if (cut) {
    const text =
      `This page has the first ${byteCount(data.shown.text_bytes_max)} of texts of ${byteCount(left.bytes)} and ` +
      `${byteCount(right.bytes)}; what lies behind is not compared.`;
    parts.push(note(text));
  }
  if (view.rows.some((row) => row.folded) || !pair.fold) {
    const fold = () => {
      pair.fold = !pair.fold;
      showPair();
      at("fold").focus();
    };
    const name = pair.fold ? "Show what is equal, too" : "Fold what is equal";
    const state = { class: "quiet", id: "fold", "aria-pressed": String(!pair.fold) };
    parts.push(make("p", { class: "screen-only" }, buttonOf(name, state, fold)));
  }
  const head = (document) => {
    const facts = FACTS.map(([name, fact]) => [name, fact(document)]).filter(([, fact]) => fact != null);
    return make("span", null, keyOf(document.key), make("small", { class: "facts" }, facts.map(([name, fact]) => `${name}: ${fact}`).join(", ")));
  };
  parts.push(beside([head(a), head(b)], view));
  return parts;
}
