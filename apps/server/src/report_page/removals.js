// The documents that somebody marks to be removed, as a list of keys for `nearkin remove`. At least
// one of each cluster is never in it.

// The marked documents of each cluster, by its place: the places of its documents.
const removing = new Map();
const marksOf = (place) => removing.get(place) || new Set();

// Whether a document may be marked: its whole key is known, its text is the one that was indexed as
// far as this page knows, and another document of the cluster that is on this page stays.
function markable(place, member) {
  const { documents } = data.clusters[place];
  const marks = marksOf(place);
  const { unlisted, text } = documents[member];
  return (
    !unlisted && text !== "changed" && (marks.has(member) || marks.size < documents.length - 1)
  );
}

function mark(place, member, wanted) {
  const marks = marksOf(place);
  if (wanted && markable(place, member)) marks.add(member);
  else marks.delete(member);
  if (marks.size) removing.set(place, marks);
  else removing.delete(place);
}

// The marked documents, in the order of clusters and keys.
const removals = () => {
  const ordered = (places) => [...places].sort((a, b) => a - b);
  const key = (place, member) => data.clusters[place].documents[member].key;
  const keys = (place) => ordered(marksOf(place)).map((member) => key(place, member));
  return ordered(removing.keys()).flatMap(keys);
};

// A line for each key.
const removalList = () => removals().map((key) => key + "\n").join("");

// The box that marks a document of the open cluster.
function removalBox(member) {
  const { key, unlisted, text } = pair.cluster.documents[member];
  const changed = text === "changed" ? "Its text is another one now: index it again first" : null;
  return make("input", {
    type: "checkbox",
    "data-member": member,
    "aria-label": `Remove ${key}`,
    title: unlisted
      ? "This key cannot be listed: the page shows it shortened, or with characters escaped"
      : changed,
    on: {
      change: (event) => {
        mark(pair.place, member, event.target.checked);
        showRemovals();
      },
    },
  });
}

// Marks of a cluster that save its reader many of them.
function removalButtons() {
  const button = (name, change) =>
    buttonOf(name, { class: "quiet small" }, () => {
      change();
      showRemovals();
    });
  const others = () => {
    const { cluster, place, left } = pair;
    removing.delete(place);
    cluster.documents.forEach((_, member) => {
      const near = estimate(equalRows(cluster, left, member)) >= data.threshold - 1e-9;
      if (member !== left && near) mark(place, member, true);
    });
  };
  return make(
    "p",
    { class: "marking screen-only", role: "group", "aria-label": "Mark documents to remove" },
    button("Mark all that are similar to the left one", others),
    button("Mark none", () => removing.delete(pair.place)),
  );
}

// How many documents of a cluster are marked, in the list of clusters.
function removalsOf(place) {
  const count = make("small", { "data-marked": place });
  countRemovals(count);
  return count;
}

function countRemovals(node) {
  const { size } = marksOf(Number(node.dataset.marked));
  node.hidden = !size;
  node.textContent = size ? `${whole(size)} to remove` : "";
}

// Everything that shows marks, after they changed.
function showRemovals() {
  for (const box of at("members").querySelectorAll("input")) {
    const member = Number(box.dataset.member);
    box.checked = marksOf(pair.place).has(member);
    box.disabled = !markable(pair.place, member);
  }
  at("list").querySelectorAll("small[data-marked]").forEach(countRemovals);
  const count = removals().length;
  at("removals").hidden = !count;
  at("removals-count").textContent = count
    ? `${counted(count, "document")} of ${counted(removing.size, "cluster")} to remove`
    : "";
  at("removals-list").value = removalList();
}

async function copyRemovals() {
  const area = at("removals-list");
  try {
    await navigator.clipboard.writeText(area.value);
  } catch {
    // Without permission, or from a server without TLS: copies the selection of a text.
    area.closest("details").open = true;
    area.select();
    if (!document.execCommand("copy")) {
      at("removals-count").textContent = "The browser does not copy: copy the marked text below";
      return;
    }
  }
  at("removals-count").textContent = `${counted(removals().length, "line")} copied`;
}

function clearRemovals() {
  removing.clear();
  showRemovals();
  say("Nothing is marked");
  at(at("cluster").hidden ? "search" : "cluster-title").focus();
}

// The strip at the end of the window: the count, the buttons, the list and what it is for.
function removalStrip() {
  const button = (id, name, click) => buttonOf(name, { class: "quiet", id }, click);
  const code = (text) => make("code", null, text);
  put(
    at("removals"),
    make(
      "div",
      { class: "removals-line" },
      make("p", { id: "removals-count", role: "status", "aria-live": "polite" }),
      button("copy", "Copy the list", copyRemovals),
      button("save", "Save it", () => save("removals.txt", "text/plain", removalList())),
      button("clear", "Clear", clearRemovals),
    ),
    make(
      "details",
      null,
      make("summary", null, "The list, and what to do with it"),
      make("textarea", {
        id: "removals-list",
        readonly: true,
        spellcheck: "false",
        "aria-label": "Keys of the documents to remove, one per line",
      }),
      paragraph(
        "One key per line; at least one document of each cluster is not in it. Saved as removals.txt, ",
        code(`nearkin remove INDEX --from removals.txt --if-similar ${plain(data.threshold)}`),
        " removes these documents from the index. It looks again, and keeps a document if none of " +
          "those that stay is similar to it. It deletes no file.",
      ),
      paragraph(
        "To remove exact copies of files, ",
        code("nearkin dups FOLDER --plan plan.txt"),
        " writes a plan. ",
        code("nearkin apply plan.txt"),
        " compares each file byte by byte, and moves it to the trash.",
      ),
    ),
  );
}
