// The documents that somebody chooses to remove: files become a plan for `nearkin apply`, other
// documents a list of keys for `nearkin remove`. At least one of each cluster stays.

// The marked documents of each cluster, by its place: the places of its documents.
const removing = new Map();
const marksOf = (place) => removing.get(place) || new Set();

// Whether a document may be marked: it can be named, its text is the one that was indexed as far as
// this page knows, and another document of the cluster that is on this page stays.
function markable(place, member) {
  const { documents } = data.clusters[place];
  const marks = marksOf(place);
  const { plan, unlisted, text } = documents[member];
  const named = plan || !unlisted;
  return named && text !== "changed" && (marks.has(member) || marks.size < documents.length - 1);
}

function mark(place, member, wanted) {
  const marks = marksOf(place);
  if (wanted && markable(place, member)) marks.add(member);
  else marks.delete(member);
  if (marks.size) removing.set(place, marks);
  else removing.delete(place);
}

const isSimilar = (cluster, one, other) =>
  estimate(equalRows(cluster, one, other)) >= data.threshold - 1e-9;

// The marked documents, in the order of clusters and keys.
const removals = () => {
  const ordered = (places) => [...places].sort((a, b) => a - b);
  const each = (place) =>
    ordered(marksOf(place)).map((member) => ({
      place,
      member,
      document: data.clusters[place].documents[member],
    }));
  return ordered(removing.keys()).flatMap(each);
};
const files = () => removals().filter(({ document }) => document.plan);

// A line for each key of a document that is no file.
const removalList = () => {
  const keys = removals().filter(({ document }) => !document.plan);
  return keys.map(({ document }) => document.key + "\n").join("");
};

// The fields of a line of a plan that recognise a file: its path comes before them.
const recognised = ({ plan }) => plan.split("\t").slice(2);

// The document that stays and is most similar to a marked one. None if all that stay are less
// similar than the threshold, or are other names of the same file.
function keptFor({ place, member, document }) {
  const cluster = data.clusters[place];
  const [own] = recognised(document);
  const rows = (other) => equalRows(cluster, member, other);
  return cluster.documents
    .map((_, other) => other)
    .filter((other) => {
      const { plan } = cluster.documents[other];
      if (!plan || marksOf(place).has(other) || !isSimilar(cluster, member, other)) return false;
      const [theirs] = recognised(cluster.documents[other]);
      return own !== theirs || own.startsWith("-");
    })
    .sort((a, b) => rows(b) - rows(a))[0];
}

// The plan as `nearkin dups --plan` writes it: a group for each document that stays. Says, too, how
// many files are in it, their bytes, and how many are not.
function planned() {
  const groups = new Map();
  let [bytes, count, left] = [0, 0, 0];
  for (const one of files()) {
    const { documents } = data.clusters[one.place];
    const kept = keptFor(one);
    if (kept === undefined) {
      left += 1;
      continue;
    }
    const group = `${one.place} ${kept}`;
    if (!groups.has(group)) groups.set(group, [`keep\t${documents[kept].plan}\n`]);
    const isCopy = recognised(one.document)[1] === recognised(documents[kept])[1];
    const alike = similar(estimate(equalRows(data.clusters[one.place], one.member, kept)));
    const why = isCopy ? "# the same bytes:" : `# similarity ${alike}:`;
    groups.get(group).push(`${why}\nremove\t${one.document.plan}\n`);
    bytes += one.document.bytes;
    count += 1;
  }
  const head =
    `nearkin-plan 1\n# Chosen in a report made ${time(data.made, SECOND)} UTC.\n` +
    `# ${counted(count, "file")} to remove, ${whole(bytes)} bytes\n` +
    "# A line has tabs between: what happens to the file, its bytes, path, identity and hash.\n" +
    "# Delete a line, and its file is left alone. Each group needs a line `keep`.\n";
  const text = [...groups.values()].map((lines) => "\n" + lines.join("")).join("");
  return { text: count ? head + text : "", count, bytes, left };
}

// The box that marks a document of the open cluster.
function removalBox(member) {
  const { key, plan, unlisted, text } = pair.cluster.documents[member];
  const changed = text === "changed" ? "Its text is another one now: index it again first" : null;
  return make("input", {
    type: "checkbox",
    "data-member": member,
    "aria-label": `Remove ${key}`,
    title:
      unlisted && !plan
        ? "This key cannot be listed: the page shows it shortened, or with characters escaped"
        : changed,
    on: {
      change: (event) => {
        mark(pair.place, member, event.target.checked);
        showRemovals();
        at("kept").textContent = "";
      },
    },
  });
}

// Marks all documents of the open cluster that are similar to this one.
function keepOnly(kept) {
  const { cluster, place } = pair;
  removing.delete(place);
  let less = 0;
  cluster.documents.forEach((_, member) => {
    if (member === kept) return;
    if (isSimilar(cluster, kept, member)) mark(place, member, true);
    else less += 1;
  });
  showRemovals();
  at("kept").textContent =
    `Stays: ${cluster.documents[kept].key}.` +
    (less ? ` So ${less === 1 ? "does one" : `do ${whole(less)}`} less similar to it than ${plain(data.threshold)}.` : "");
}

// When a file was changed last, or a document without one added.
const changedAt = (document) => document.modified ?? document.time;

function removalButtons() {
  const { documents } = pair.cluster;
  // Of equal ones the shortest key: the others are rather named as copies.
  const isBetter = (one, other, measure) =>
    measure(one) - measure(other) || other.key.length - one.key.length;
  const most = (measure) =>
    documents.reduce((best, one, member) => (isBetter(one, documents[best], measure) > 0 ? member : best), 0);
  const button = (name, click) => buttonOf(name, { class: "quiet small" }, click);
  const keep = (name, measure) => button(name, () => keepOnly(most(measure)));
  const longest = documents.some(({ length }) => length)
    ? keep("the longest", ({ length }) => length || 0)
    : null;
  const none = () => {
    removing.delete(pair.place);
    showRemovals();
    at("kept").textContent = "All stay.";
  };
  return [
    make(
      "p",
      { class: "marking screen-only", role: "group", "aria-labelledby": "marking-name" },
      make("span", { id: "marking-name" }, "Keep only"),
      keep("the newest", changedAt),
      keep("the oldest", (document) => -changedAt(document)),
      longest,
      button("Keep all", none),
    ),
    make("p", { id: "kept", class: "note screen-only", role: "status" }),
  ];
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
  const { text, count, bytes, left } = planned();
  const missing = left
    ? `${counted(left, "marked file")} not in the plan: nothing that stays is similar enough`
    : "";
  const size = count ? `${counted(count, "file")} to remove, ${byteCount(bytes)}` : "";
  fillOutlet("plan", text || missing, [size, missing].filter(Boolean).join("; "), text);
  const list = removalList();
  fillOutlet("keys", list, `${counted(list.split("\n").length - 1, "document")} to remove from the index`, list);
  at("removals").hidden = !removing.size;
}

function fillOutlet(name, shown, count, text) {
  at(name).hidden = !shown;
  at(`${name}-count`).textContent = count;
  at(`${name}-text`).value = text;
}

async function copyText(name) {
  const area = at(`${name}-text`);
  let said = `${counted(area.value.split("\n").length - 1, "line")} copied`;
  try {
    await navigator.clipboard.writeText(area.value);
  } catch {
    // Without permission, or from a server without TLS: copies the selection of a text.
    area.closest("details").open = true;
    area.select();
    if (!document.execCommand("copy")) said = "The browser does not copy: copy the marked text below";
  }
  at(`${name}-count`).textContent = said;
}

function clearRemovals() {
  removing.clear();
  showRemovals();
  say("Nothing is marked");
  at(at("cluster").hidden ? "search" : "cluster-title").focus();
}

// The folder that relative paths begin in, for a command. Only a page that lies in it, or below,
// and was opened from the disk, can tell.
function folder() {
  try {
    const { pathname } = new URL(data.files || "./", location.href);
    const path = decodeURIComponent(pathname).replace(/(.)\/$/, "$1");
    if (data.files == null || location.protocol !== "file:") return "";
    if (/^\/[A-Za-z]:/.test(path)) return `"${path.slice(1)}"`;
    return /[^\w./-]/.test(path) ? `'${path.replaceAll("'", "'\\''")}'` : path;
  } catch {
    return "";
  }
}

const code = (text) => make("code", null, text);

// What the plan is for, step by step.
function planSteps() {
  const where = folder();
  const step = (...children) => make("li", null, children);
  return make(
    "ol",
    null,
    step("Save the plan. Your browser puts it into its folder for downloads."),
    where
      ? step("In a terminal, go to the folder of the files: ", code(`cd ${where}`))
      : step(
          "In a terminal, go to the folder that the names of the documents begin in: there ",
          code("nearkin report"),
          " ran, or ",
          code("nearkin serve"),
          " reads its texts.",
        ),
    step(
      code("nearkin apply ~/Downloads/plan.txt"),
      " looks at each file again, and moves it to the trash. A file that has changed stays.",
    ),
    step(code("nearkin apply ~/Downloads/plan.txt --undo"), " brings the files back."),
    step("Run ", code("nearkin mirror"), " again, so that the index knows."),
  );
}

const listHelp = () =>
  paragraph(
    "These documents have no file that this page has read. Saved as removals.txt, ",
    code(`nearkin remove INDEX --from removals.txt --if-similar ${plain(data.threshold)}`),
    " removes them from the index. It looks again, and keeps a document if none of those that stay " +
      "is similar to it. It deletes no file: if the files stay, the next ",
    code("nearkin mirror"),
    " adds the documents back.",
  );

// A text to save or copy: its count, its buttons, what it is for, and itself.
function outlet(name, called, file, help) {
  const button = (does, text, click) =>
    buttonOf(text, { class: does === "save" ? "main" : "quiet", id: `${name}-${does}` }, click);
  const saveIt = () => {
    save(file, "text/plain", at(`${name}-text`).value);
    at(name).querySelector("details").open = true;
  };
  return make(
    "div",
    { id: name },
    make(
      "div",
      { class: "removals-line" },
      make("p", { id: `${name}-count`, role: "status", "aria-live": "polite" }),
      button("save", `Save the ${called}`, saveIt),
      button("copy", "Copy", () => copyText(name)),
      button("clear", "Clear", clearRemovals),
    ),
    make(
      "details",
      null,
      make("summary", null, "What to do with it"),
      help,
      make("textarea", { id: `${name}-text`, readonly: true, spellcheck: "false", "aria-label": `The ${called}` }),
    ),
  );
}

// The strip at the end of the window.
const removalStrip = () =>
  put(at("removals"), outlet("plan", "plan", "plan.txt", planSteps()), outlet("keys", "list", "removals.txt", listHelp()));
