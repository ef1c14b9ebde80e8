// Starts it all: head, overview, theme.

function head() {
  document.title = data.title + " - near-duplicates";
  at("title").textContent = data.title;
  at("meta").textContent =
    `${counted(data.totals.documents, "document")}, compared at similarity ` +
    `${plain(data.threshold)} and above. Made ${time(data.made, 60 * SECOND)} UTC.`;
  at("parameter-text").textContent =
    `${data.params}. State after change ${whole(data.change)}.`;
  const changed = data.shown.texts_changed
    ? ` ${counted(data.shown.texts_changed, "text")} changed since they were added, and are not here.`
    : "";
  const made =
    `Made by nearkin ${data.version}. This page has ${counted(data.shown.documents, "document")} of the ` +
    `clusters, ${whole(data.shown.texts)} of them with their text, and loads nothing from elsewhere.`;
  at("footer").append(paragraph(made + changed));
}

function overview() {
  const { documents, clusters, clustered, surplus, copies: all } = data.totals;
  const { free, free_known: known } = data.totals;
  const lead = at("lead");
  if (!documents) {
    lead.textContent =
      "The index holds no documents. Add some with nearkin add, and make this page again.";
    for (const part of ["clusters", "growth", "similarity"]) at(part).hidden = true;
    return;
  }
  if (data.curve.candidate < 0.5) {
    const text =
      `The index was built for similarities of ${plain(data.threshold_index)} and ` +
      `above. At ${plain(data.threshold)} it finds ${percent(data.curve.candidate)} of the pairs of that similarity, so ` +
      "the counts here are too low: build one with a lower --threshold.";
    at("share").append(make("p", { class: "warning" }, text));
  }
  const strong = (text) => make("strong", null, text);
  if (!clusters) {
    lead.append(
      "None of ",
      strong(counted(documents, "document")),
      ` is a near-duplicate of another at similarity ${plain(data.threshold)} and above.`,
    );
    return;
  }
  const share = percent(surplus / documents);
  lead.append(
    strong(share[0].toUpperCase() + share.slice(1)),
    " of the documents could be removed: ",
    strong(whole(clustered)),
    " of ",
    whole(documents),
    " are in ",
    strong(counted(clusters, "cluster")),
    ` of near-duplicates; keeping one of each would remove ${whole(surplus)}`,
    ...(known ? [" and free ", strong(byteCount(free))] : []),
    ".",
  );
  if (known && known < surplus) {
    const all = counted(surplus, "document");
    at("share").append(note(`The bytes are those of the ${whole(known)} of ${all} that were found.`));
  }
  const copies = Math.min(all, surplus);
  const parts = [
    ["alone", documents - clustered, "not similar to another"],
    ["kept", clusters, `kept: one of ${clusters === 1 ? "its" : "each"} cluster`],
    ["near", surplus - copies, "similar to one that is kept, or to a copy of it"],
    ["same", copies, "practically identical to another"],
  ].filter(([, count]) => count > 0);
  const shares = parts.map(([name, count]) => {
    const part = make("span", { class: name });
    part.style.flexGrow = String(count / documents);
    return part;
  });
  const bar = make("div", { class: "share", "aria-hidden": "true" }, shares);
  const entries = parts.map(([name, count, text]) => {
    const swatch = make("span", { class: "swatch " + name, "aria-hidden": "true" });
    const counts = [whole(count), make("small", null, percent(count / documents))];
    return make("div", null, make("dt", null, swatch, text), make("dd", null, counts));
  });
  at("share").append(bar, make("dl", { class: "share-legend" }, entries));
  const range = ({ low, high }) =>
    high < 1e15 ? `${whole(low)} to ${whole(high)}` : `${whole(low)} and more`;
  const heads = ["Documents in a cluster", "Clusters", "Documents"];
  const rows = data.sizes.map((size) => [range(size), whole(size.clusters), whole(size.documents)]);
  const title = "Clusters by their size";
  at("sizes").append(folded(title, table(title, heads, rows)));
}

function charts() {
  const open = [...document.querySelectorAll("details")].map((one) => one.open);
  for (const holder of ["histogram", "curve", "timeline"]) at(holder).replaceChildren();
  WIDTH = Math.max(300, Math.min(960, at("main").clientWidth));
  histogram();
  curve();
  timeline();
  document.querySelectorAll("details").forEach((one, place) => {
    one.open = Boolean(open[place]);
  });
}

// Which folders share documents.
function folders() {
  const { rows, cut } = data.folders;
  if (!rows.length) return;
  at("folders").hidden = false;
  const name = (folder) => (folder === "" ? "(no folder)" : folder);
  const side = (folder, some, all) => [
    make("td", { class: "folder" }, keyOf(name(folder))),
    numberCell(`${whole(some)} of ${whole(all)}`),
  ];
  const body = rows.map((row) => {
    const other =
      row.a === row.b
        ? [make("td", { class: "folder soft" }, "within itself"), make("td", null)]
        : side(row.b, row.documents_b, row.all_b);
    return rowWith(side(row.a, row.documents_a, row.all_a), other, numberCell(whole(row.clusters)));
  });
  put(
    at("folder-table"),
    note(
      "Two folders, and how many documents of each have a near-duplicate in the other." +
        (cut ? " Only the pairs of folders that share most are here." : ""),
    ),
    make(
      "div",
      { class: "list", role: "region", tabindex: "0", "aria-label": "Folders that share documents" },
      tableOf(
        { class: "folders" },
        unseenCaption("Pairs of folders that share documents"),
        [["Folder"], ["Documents", true], ["Other folder"], ["Documents", true], ["Clusters", true]],
        bodyOf(body),
      ),
    ),
  );
}

// Only parts that are there are linked; the folded ones open for their link.
function links() {
  for (const link of document.querySelectorAll("nav a")) {
    const part = at(link.hash.slice(1));
    if (part.hidden) link.parentElement.remove();
  }
  const unfold = () => {
    const part = location.hash.length > 1 ? at(location.hash.slice(1)) : null;
    const holder = part ? part.closest("details") : null;
    if (holder) holder.open = true;
  };
  addEventListener("hashchange", unfold);
  document.querySelector("nav").addEventListener("click", (event) => {
    if (event.target.hash === "#details") at("details").open = true;
  });
  unfold();
}

theme();
head();
overview();
browse();
folders();
if (data.totals.documents) charts();
else curve();
links();
// A link to a document, as the page of the server has them, opens its cluster.
const linked = new URLSearchParams(location.hash.slice(1)).get("key");
if (linked !== null && data.clusters.length) {
  at("search").value = linked;
  search();
  if (list.found.length) openCluster(list.found[0]);
}
let resizing = 0;
let width = innerWidth;
addEventListener("resize", () => {
  if (innerWidth === width || !data.totals.documents) return;
  width = innerWidth;
  clearTimeout(resizing);
  resizing = setTimeout(charts, 150);
});
