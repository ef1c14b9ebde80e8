// The list of clusters, and one of them.

const searched = data.clusters.map((cluster) =>
  cluster.documents.map((document) => document.key.toLowerCase()).join("\n"),
);

// When the first and the last of its documents was changed or, without files, added.
const firstOf = ({ first, documents }) => hasFiles ? Math.min(...documents.map(changedAt)) : first;
const lastOf = ({ last, documents }) => hasFiles ? Math.max(...documents.map(changedAt)) : last;

const ORDERS = {
  size: null,
  new: (a, b) => lastOf(b) - lastOf(a),
  old: (a, b) => firstOf(a) - firstOf(b),
  key: (a, b) => (a.documents[0].key < b.documents[0].key ? -1 : 1),
  free: (a, b) => (b.free || 0) - (a.free || 0),
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
    const text =
      "No key shown here holds that. Keys of smaller clusters, and of documents beyond those " +
      "shown, are not searched.";
    at("list").append(make("p", { class: "empty" }, text));
    return;
  }
  list.body = make("tbody");
  const heads = [
    ["Documents", true],
    ["First document"],
    data.totals.free_known ? ["Could be freed", true] : ["First added", true],
    [hasFiles ? "Last changed" : "Last added", true],
  ];
  const caption = unseenCaption("Clusters; each opens below");
  at("list").append(tableOf({ class: "clusters" }, caption, heads, list.body));
  more();
}

function row(place) {
  const cluster = data.clusters[place];
  const key = cluster.documents[0].key;
  const bar = make("span", { class: "bar", "aria-hidden": "true" });
  bar.style.inlineSize = `${Math.max(2, (cluster.size / data.clusters[0].size) * 100)}%`;
  const match =
    list.words && !key.toLowerCase().includes(list.words)
      ? cluster.documents.find((document) => document.key.toLowerCase().includes(list.words))
      : null;
  const open = make(
    "button",
    { type: "button", class: "row", "data-cluster": place, "aria-controls": "cluster" },
    keyOnOneLine(key),
  );
  const free = () => (cluster.free == null ? "not known" : byteCount(cluster.free));
  const holds = match ? make("small", null, "holds ", keyOnOneLine(match.key)) : null;
  return rowWith(
    make("td", { class: "number size" }, make("span", null, whole(cluster.size)), bar),
    headCell(open, removalsOf(place), holds),
    numberCell(data.totals.free_known ? free() : day(firstOf(cluster))),
    numberCell(day(lastOf(cluster))),
  );
}

// A small picture of how a cluster grew.
function spark(cluster) {
  const begin = cluster.growth[0][0];
  const count =
    Math.round((cluster.growth[cluster.growth.length - 1][0] - begin) / cluster.span) + 1;
  const most = Math.max(...cluster.growth.map(([, came]) => came));
  const rects = cluster.growth.map(([start, came]) => {
    const x = Math.round((start - begin) / cluster.span) * 12;
    const height = Math.max(1, (came / most) * 40);
    return draw("rect", { x, width: 10, class: "strong", y: 40 - height, height });
  });
  const text =
    `Each bar ${spanned(cluster.span)}, at most ${counted(most, "document")} in one; from ` +
    `${time(cluster.first, cluster.span)} to ${time(cluster.last, cluster.span)} UTC.`;
  const width = count * 12;
  const size = { viewBox: `0 0 ${width} 41`, width, height: 41, "aria-hidden": "true" };
  const svg = draw("svg", size, line(0, 40.5, width, 40.5, "rule"), rects);
  return make("div", { class: "spark" }, svg, note(text));
}

// The one before and the one after, in the order of the list.
function steps(place) {
  const at = list.found.indexOf(place);
  const step = (to, id, name) =>
    buttonOf(name, { class: "quiet small", id, disabled: !(to in list.found) }, () => stepTo(to, id));
  const where =
    at < 0
      ? `Cluster ${whole(place + 1)} by size`
      : `Cluster ${whole(at + 1)} of ${whole(list.found.length)} in the list`;
  return make(
    "div",
    { class: "steps" },
    make("p", { class: "brand" }, where),
    make(
      "p",
      { class: "screen-only", role: "group", "aria-label": "Other clusters" },
      step(at < 0 ? -1 : at - 1, "previous", "Previous"),
      " ",
      step(at < 0 ? 0 : at + 1, "next", "Next"),
    ),
  );
}

function stepTo(to, name) {
  while (list.shown <= to && list.shown < list.found.length) more();
  openCluster(list.found[to]);
  const button = at(name);
  if (!button.disabled) button.focus({ preventScroll: true });
}

function openCluster(place) {
  const cluster = data.clusters[place];
  // The first that is no copy of the representative has something to show.
  const other = cluster.documents.findIndex(
    (_, member) => equalRows(cluster, 0, member) < data.hashes,
  );
  Object.assign(pair, { cluster, place, left: 0, right: Math.max(other, 1) });
  for (const button of at("list").querySelectorAll("button.row")) {
    const current = button.dataset.cluster === String(place);
    button.toggleAttribute("aria-current", current);
    if (current) button.setAttribute("aria-current", "true");
    button.closest("tr").classList.toggle("current", current);
  }
  const shown = cluster.documents.length;
  const sample =
    shown < cluster.size
      ? ` ${whole(shown)} of them are on this page, spread over the keys in order.`
      : "";
  const focused = { id: "cluster-title", tabindex: "-1" };
  const title = make("h3", focused, keyOf(cluster.documents[0].key));
  const options = () =>
    cluster.documents.map((document, number) =>
      make("option", { value: number, title: document.key }, keyCut(document.key, 72)),
    );
  const choose = (side, name) => {
    const change = () => {
      pair[side] = Number(select.value);
      showPair();
    };
    const select = make("select", { id: side, on: { change } }, options());
    return make("p", { class: "choice" }, make("label", { for: side }, name), select);
  };
  put(
    emptied("cluster"),
    steps(place),
    title,
    paragraph(
      `${counted(cluster.size, "document")}, ${hasFiles ? "changed" : "added"} ` +
        `${between(firstOf(cluster), lastOf(cluster))}; the first one by name is above.` +
        (cluster.free == null ? "" : ` Keeping it alone would free ${byteCount(cluster.free)}.`) +
        sample,
    ),
    cluster.growth.length > 1 && !hasFiles ? spark(cluster) : null,
    make("div", {
      id: "members",
      class: "list",
      role: "region",
      tabindex: "0",
      "aria-label": "Documents of this cluster",
    }),
    removalButtons(),
    make(
      "div",
      { class: "choices", role: "group", "aria-label": "Documents to compare" },
      choose("left", "Compare"),
      choose("right", "with"),
    ),
    make("div", { id: "pair" }),
    make("p", { class: "screen-only" }, buttonOf("Back to the list", { class: "quiet" }, closeCluster)),
  );
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

// A cell of a table of text: quoted, with quotes doubled (RFC 4180).
const cell = (value) => `"${String(value).replaceAll('"', '""')}"`;

// The clusters of the list, a line for each document that the page has.
function csv() {
  const lines = [["cluster", "documents", "key", "estimated_similarity_to_first", "added_utc", "bytes", "changed_utc"]];
  for (const place of list.found) {
    const cluster = data.clusters[place];
    cluster.documents.forEach(({ key, time: ms, bytes, modified }, member) => {
      const alike = thousandths(estimate(equalRows(cluster, 0, member)));
      const changed = modified == null ? "" : time(modified, SECOND);
      lines.push([place + 1, cluster.size, key, alike, time(ms, SECOND), bytes ?? "", changed]);
    });
  }
  return lines.map((line) => line.map(cell).join(",") + "\r\n").join("");
}

// Saves a text as a file.
function save(name, type, text) {
  const url = URL.createObjectURL(new Blob([text], { type: type + ";charset=utf-8" }));
  const link = make("a", { href: url, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10 * SECOND);
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
    ? documents
      ? `No two documents are connected at estimated similarity ${plain(data.threshold)} and above.`
      : "There are none."
    : `Documents linked by pairs of estimated similarity ${plain(data.threshold)} or more. ` +
      (shown < clusters
        ? `Here are the ${whole(shown)} largest of ${whole(clusters)}; those left out have at most ` +
          `${counted(least, "document")} each. The command nearkin clusters prints all.`
        : shown === 1
        ? "There is one, and it is here."
        : "All of them are here.") +
      (data.clusters.some(({ size, documents: members }) => members.length < size)
        ? ` At most ${whole(data.shown.members_max)} documents of each are shown.`
        : "");
  if (!shown) return;
  at("browser").hidden = false;
  at("filter").addEventListener("submit", (event) => event.preventDefault());
  let waiting = 0;
  at("search").addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(search, 120);
  });
  at("order").addEventListener("change", search);
  if (!data.totals.free_known) at("order").querySelector("[value=free]").remove();
  at("csv").addEventListener("click", () => save("clusters.csv", "text/csv", csv()));
  removalStrip();
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
