// The list of clusters, one cluster, and two of its documents side by side.

const PAGE = 50;
const searched = data.clusters.map((cluster) =>
  cluster.documents.map((document) => document.key.toLowerCase()).join("\n"));
const list = { found: [], shown: 0 };
const pair = { cluster: null, left: 0, right: 1, fold: true };

// The estimate of the similarity, and one standard error of it, from equal rows.
const estimate = (equal) => Math.max(0, (equal / data.hashes - data.collision) / (1 - data.collision));
function standardError(equal) {
  const share = (equal + 1) / (data.hashes + 2);
  return Math.sqrt((share * (1 - share)) / data.hashes) / (1 - data.collision);
}

function equalRows(cluster, one, other) {
  const [low, high] = [Math.min(one, other), Math.max(one, other)];
  return low === high ? data.hashes : cluster.rows[(high * (high - 1)) / 2 + low];
}

const ORDERS = {
  size: null,
  new: (a, b) => b.last - a.last,
  old: (a, b) => a.first - b.first,
  key: (a, b) => (a.documents[0].key < b.documents[0].key ? -1 : 1),
};

function search() {
  const words = at("search").value.trim().toLowerCase();
  const order = ORDERS[at("order").value];
  const places = data.clusters.map((_, place) => place);
  list.found = words ? places.filter((place) => searched[place].includes(words)) : places;
  if (order) list.found.sort((a, b) => order(data.clusters[a], data.clusters[b]) || a - b);
  list.shown = 0;
  list.words = words;
  const all = counted(data.clusters.length, "cluster");
  at("count").textContent = words ? `${whole(list.found.length)} of ${all}` : all;
  at("list").replaceChildren();
  if (!list.found.length) {
    at("list").append(make("p", { class: "empty" }, "No key shown here holds that. Keys of smaller clusters, and of "
      + "documents beyond those shown, are not searched."));
    return;
  }
  list.body = make("tbody");
  const heads = ["Documents", "Representative", "First added", "Last added"];
  at("list").append(make("table", { class: "clusters" },
    make("caption", { class: "unseen" }, "Clusters; each opens below"),
    make("thead", null, make("tr", null, heads.map((text, column) =>
      make("th", { scope: "col", class: column === 1 ? null : "number" }, text)))),
    list.body));
  more();
}

function row(place) {
  const cluster = data.clusters[place];
  const key = cluster.documents[0].key;
  const bar = make("span", { class: "bar", "aria-hidden": "true" });
  bar.style.inlineSize = `${Math.max(2, (cluster.size / data.clusters[0].size) * 100)}%`;
  const match = list.words && !key.toLowerCase().includes(list.words)
    ? cluster.documents.find((document) => document.key.toLowerCase().includes(list.words)) : null;
  const open = make("button", { type: "button", class: "row", title: key, "data-cluster": place,
    "aria-controls": "cluster" }, keyOf(key));
  return make("tr", null,
    make("td", { class: "number size" }, make("span", null, whole(cluster.size)), bar),
    make("th", { scope: "row" }, open, match ? make("small", null, "holds ", keyOf(match.key)) : null),
    make("td", { class: "number" }, day(cluster.first)), make("td", { class: "number" }, day(cluster.last)));
}

function more() {
  const next = list.found.slice(list.shown, list.shown + PAGE);
  list.body.append(...next.map(row));
  list.shown += next.length;
  const left = list.found.length - list.shown;
  const button = at("list").querySelector(".more");
  if (button) button.remove();
  if (left > 0) {
    at("list").append(make("button", { type: "button", class: "more quiet", on: { click: () => {
      const first = list.shown;
      more();
      list.body.rows[first].querySelector("button").focus();
    } } }, `Show ${Math.min(left, PAGE)} more of ${whole(left)}`));
  }
}

// A small picture of how a cluster grew.
function spark(cluster) {
  const begin = cluster.growth[0][0];
  const count = Math.round((cluster.growth[cluster.growth.length - 1][0] - begin) / cluster.span) + 1;
  const most = Math.max(...cluster.growth.map(([, came]) => came));
  const rects = cluster.growth.map(([start, came]) => draw("rect", {
    x: Math.round((start - begin) / cluster.span) * 12, width: 10, class: "strong",
    y: 40 - Math.max(1, (came / most) * 40), height: Math.max(1, (came / most) * 40) }));
  const text = `Each bar ${spanned(cluster.span)}, at most ${counted(most, "document")} in one; from `
    + `${time(cluster.first, cluster.span)} to ${time(cluster.last, cluster.span)} UTC.`;
  return make("div", { class: "spark" },
    draw("svg", { viewBox: `0 0 ${count * 12} 41`, width: count * 12, height: 41, "aria-hidden": "true" },
      line(0, 40.5, count * 12, 40.5, "rule"), rects),
    make("p", { class: "note" }, text));
}

function openCluster(place) {
  const cluster = data.clusters[place];
  // The first that is no copy of the representative has something to show.
  const other = cluster.documents.findIndex((_, member) => equalRows(cluster, 0, member) < data.hashes);
  Object.assign(pair, { cluster, place, left: 0, right: Math.max(other, 1) });
  for (const button of at("list").querySelectorAll("button.row")) {
    const current = button.dataset.cluster === String(place);
    button.toggleAttribute("aria-current", current);
    if (current) button.setAttribute("aria-current", "true");
    button.closest("tr").classList.toggle("current", current);
  }
  const shown = cluster.documents.length;
  const sample = shown < cluster.size ? ` ${whole(shown)} of them are on this page, spread over the keys in order.` : "";
  const title = make("h3", { id: "cluster-title", tabindex: "-1" }, keyOf(cluster.documents[0].key));
  const options = () => cluster.documents.map((document, number) => make("option", { value: number }, document.key));
  const choose = (side, name) => {
    const select = make("select", { id: side, on: { change: () => { pair[side] = Number(select.value); showPair(); } } }, options());
    return make("p", { class: "choice" }, make("label", { for: side }, name), select);
  };
  put(emptied("cluster"),
    make("p", { class: "brand" }, `Cluster ${whole(place + 1)} by size`),
    title,
    make("p", null, `${counted(cluster.size, "document")}, added ${between(cluster.first, cluster.last)}; the key above is `
      + `the smallest of them and stands for all.${sample}`),
    cluster.growth.length > 1 ? spark(cluster) : null,
    make("div", { id: "members", class: "list", role: "region", tabindex: "0", "aria-label": "Documents of this cluster" }),
    make("div", { class: "choices", role: "group", "aria-label": "Documents to compare" },
      choose("left", "Compare"), choose("right", "with")),
    make("div", { id: "pair" }),
    make("p", { class: "screen-only" }, make("button", { type: "button", class: "quiet", on: { click: closeCluster } }, "Back to the list")));
  at("cluster").hidden = false;
  showPair();
  title.focus({ preventScroll: true });
  at("cluster").scrollIntoView({ block: "start" });
}

function closeCluster() {
  const button = at("list").querySelector(`button.row[data-cluster="${pair.place}"]`);
  at("cluster").hidden = true;
  (button || at("search")).focus();
}

function members() {
  const { cluster, left, right } = pair;
  const rows = cluster.documents.map((document, place) => {
    const compare = make("button", { type: "button", class: "quiet small", disabled: place === left,
      "aria-label": `Compare with ${document.key}`,
      on: { click: () => { pair.right = place; showPair(); at("pair").querySelector("h4").focus(); } } }, "Compare");
    const alike = place === left ? "left side" : similar(estimate(equalRows(cluster, left, place)));
    return make("tr", { class: place === left || place === right ? "current" : null },
      make("td", { class: "number" }, alike), make("th", { scope: "row" }, keyOf(document.key)),
      make("td", { class: "number" }, time(document.time, SECOND)), make("td", null, compare));
  });
  const heads = ["Similarity", "Document", "Added (UTC)", "Compare"];
  at("members").replaceChildren(make("table", { class: "members" },
    make("caption", { class: "unseen" }, "Documents of this cluster, and their similarity to the one on the left side"),
    make("thead", null, make("tr", null, heads.map((text, column) =>
      make("th", { scope: "col", class: column % 2 ? null : "number" }, text)))), make("tbody", null, rows)));
}

// Why a text is not here.
function absent(document) {
  const { texts_asked: asked, texts_possible: possible, sets } = data.shown;
  if (!possible) return "its signature was made elsewhere, so this page cannot read it again";
  if (document.text === "changed") return "it has changed since it was added; add it again to compare it";
  if (document.text === "missing") return "it was not found by its key; make the page with --from FILE.jsonl, which holds the texts";
  if (asked) return "there was no place for more texts; with a smaller --clusters there is more for each";
  return sets ? "this page was made without the sets; --from FILE.jsonl puts them in" : "this page was made without texts";
}

function showPair() {
  const { cluster, left, right } = pair;
  at("left").value = left;
  at("right").value = right;
  members();
  const [a, b] = [cluster.documents[left], cluster.documents[right]];
  const equal = equalRows(cluster, left, right);
  const title = make("h4", { tabindex: "-1" }, left === right ? "The same document twice" : `Similarity ${similar(estimate(equal))}`);
  const below = estimate(equal) < data.threshold - 1e-9
    ? ` That is below ${plain(data.threshold)}: others between them connect the two.` : "";
  const facts = make("p", null, `${whole(equal)} of ${whole(data.hashes)} rows of their signatures are equal; the estimate `
    + `strays by ${similar(standardError(equal))} (one standard error).${below}`);
  put(emptied("pair"), title, facts, sides(a, b));
  say(`${title.textContent}: ${a.key} and ${b.key}`);
}

function sides(a, b) {
  const held = (document) => document.text && typeof document.text === "object";
  if (!held(a) || !held(b)) {
    return [a, b].filter((document, place, both) => !held(document) && both.indexOf(document) === place)
      .map((document) => make("p", { class: "note absent" }, "No text of ", keyOf(document.key), ": ", absent(document), "."));
  }
  const [left, right] = [data.texts[a.text.at], data.texts[b.text.at]];
  const view = compared(left.text, right.text, pair.fold);
  const what = data.shown.sets ? ["item", "items"] : ["word", "words"];
  const cut = (text) => text.bytes > data.shown.text_bytes_max;
  const equal = view.left + view.right === 0;
  const parts = [];
  let summary = equal ? `All ${what[1]} are the same.`
    : `${counted(view.left, ...what)} only on the left, ${whole(view.right)} only on the right.`;
  if (equal && (cut(left) || cut(right))) summary = `What is shown is the same, ${what[0]} by ${what[0]}; what differs may lie behind it.`;
  if (!view.aligned) summary = "Too much differs to align the two; marked is what the other text lacks anywhere. " + summary;
  parts.push(make("p", null, summary));
  if (cut(left) || cut(right)) {
    parts.push(make("p", { class: "note" }, `Long texts are cut: the first ${whole(data.shown.text_bytes_max)} bytes `
      + `of ${whole(left.bytes)} and ${whole(right.bytes)} are compared here.`));
  }
  if (view.rows.some((row) => row.folded) || !pair.fold) {
    parts.push(make("p", { class: "screen-only" }, make("button", { type: "button", class: "quiet", id: "fold",
      "aria-pressed": String(!pair.fold), on: { click: () => { pair.fold = !pair.fold; showPair(); at("fold").focus(); } } },
      pair.fold ? "Show what is equal, too" : "Fold what is equal")));
  }
  parts.push(beside(a, b, view));
  return parts;
}

function beside(a, b, view) {
  const cell = (runs, tag) => make("td", null, runs.map(([text, differs]) => (differs ? make(tag, null, text) : text)));
  const rows = view.rows.map((row) => (row.folded
    ? make("tr", { class: "folded" }, make("td", { colspan: "2" }, counted(row.folded, "equal word"), " left out"))
    : make("tr", null, cell(row.left, "del"), cell(row.right, "ins"))));
  return make("table", { class: "texts" }, make("caption", { class: "unseen" }, "The two documents side by side; what differs is marked"),
    make("thead", null, make("tr", null, make("th", { scope: "col" }, keyOf(a.key)), make("th", { scope: "col" }, keyOf(b.key)))),
    make("tbody", null, rows));
}

// The arrow keys walk through the list.
function walk(event) {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!step || event.target.matches("select")) return;
  const rows = [...at("list").querySelectorAll("button.row")];
  const next = rows.indexOf(document.activeElement) + step;
  if (next >= 0 && next < rows.length) rows[next].focus();
  else if (next < 0) at("search").focus();
  event.preventDefault();
}

function browse() {
  const { clusters, documents } = data.totals;
  const shown = data.clusters.length;
  const least = shown ? data.clusters[shown - 1].size : 0;
  at("clusters-note").textContent = !clusters
    ? (documents ? `No two documents are connected at similarity ${plain(data.threshold)} and above.` : "There are none.")
    : `A cluster is what pairs of similarity ${plain(data.threshold)} and above connect. `
      + (shown < clusters ? `Here are the ${whole(shown)} largest of ${whole(clusters)}; those left out have at most `
        + `${counted(least, "document")} each. The command nearkin clusters prints all.` : "All of them are here.");
  if (!shown) return;
  at("browser").hidden = false;
  at("filter").addEventListener("submit", (event) => event.preventDefault());
  let waiting = 0;
  at("search").addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(search, 120);
  });
  at("order").addEventListener("change", search);
  at("search").addEventListener("keydown", walk);
  at("list").addEventListener("keydown", walk);
  at("list").addEventListener("click", (event) => {
    const button = event.target.closest("button.row");
    if (button) openCluster(Number(button.dataset.cluster));
  });
  document.addEventListener("keydown", (event) => {
    const typing = event.target.matches("input, select, textarea");
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
      at("search").focus();
      event.preventDefault();
    } else if (event.key === "Escape" && at("cluster").contains(event.target)) {
      closeCluster();
    }
  });
  search();
}
