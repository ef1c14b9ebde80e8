// Starts it all: head, overview, theme.

function head() {
  document.title = data.title + " - near-duplicates";
  at("title").textContent = data.title;
  at("meta").textContent =
    `${counted(data.totals.documents, "document")}, compared at similarity ` +
    `${plain(data.threshold)} and above. Made ${time(data.made, 60 * SECOND)} UTC.`;
  at("footer").append(
    make(
      "p",
      null,
      `Parameters of the index: ${data.params}. State after change ${whole(data.change)}.`,
    ),
    make(
      "p",
      null,
      `Made by nearkin ${data.version}. This page holds ${counted(data.shown.documents, "document")} of the ` +
        `clusters, ${whole(data.shown.texts)} of them with their text, and loads nothing from anywhere.` +
        (data.shown.texts_changed
          ? ` ${counted(data.shown.texts_changed, "text")} changed since they were added, and are not here.`
          : ""),
    ),
  );
}

function overview() {
  const { documents, clusters, clustered, surplus, copies: all } = data.totals;
  const lead = at("lead");
  if (!documents) {
    lead.textContent =
      "The index holds no documents. Add some with nearkin add, and make this page again.";
    for (const part of ["clusters", "similarity", "growth"]) at(part).hidden = true;
    return;
  }
  if (data.curve.candidate < 0.5) {
    at("share").append(
      make(
        "p",
        { class: "warning" },
        `The index was built for similarities of ${plain(data.threshold_index)} and ` +
          `above. At ${plain(data.threshold)} it finds ${percent(data.curve.candidate)} of the pairs that are so alike, so what is ` +
          "counted here is too low: build one with a lower --threshold.",
      ),
    );
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
    " of the documents could go: ",
    strong(whole(clustered)),
    " of ",
    whole(documents),
    " lie in ",
    strong(counted(clusters, "cluster")),
    ` of near-duplicates, and if one of each stays, ${whole(surplus)} are too many.`,
  );
  const copies = Math.min(all, surplus);
  const parts = [
    ["alone", documents - clustered, "like no other"],
    [
      "kept",
      clusters,
      clusters === 1 ? "one of its cluster, to stay" : "one of each cluster, to stay",
    ],
    ["near", surplus - copies, "near-duplicates of one that stays"],
    ["same", copies, "with the signature of another: as good as copies"],
  ].filter(([, count]) => count > 0);
  const bar = make(
    "div",
    { class: "share", "aria-hidden": "true" },
    parts.map(([name, count]) => {
      const part = make("span", { class: name });
      part.style.flexGrow = String(count / documents);
      return part;
    }),
  );
  const entries = parts.map(([name, count, text]) =>
    make(
      "div",
      null,
      make("dt", null, make("span", { class: "swatch " + name, "aria-hidden": "true" }), text),
      make("dd", null, whole(count), make("small", null, percent(count / documents))),
    ),
  );
  at("share").append(bar, make("dl", { class: "share-legend" }, entries));
  const range = ({ low, high }) =>
    high < 1e15 ? `${whole(low)} to ${whole(high)}` : `${whole(low)} and more`;
  at("sizes").append(
    folded(
      "Clusters by their size",
      table(
        "Clusters by their size",
        ["Documents in a cluster", "Clusters", "Documents"],
        data.sizes.map((size) => [range(size), whole(size.clusters), whole(size.documents)]),
      ),
    ),
  );
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

// Light or dark: as the system says, until somebody says otherwise.
function theme() {
  const button = at("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const root = document.documentElement;
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const name = () => {
    button.textContent = isDark() ? "Light theme" : "Dark theme";
  };
  try {
    const kept = localStorage.getItem("nearkin-theme");
    if (kept === "dark" || kept === "light") root.dataset.theme = kept;
  } catch {
    /* A browser may keep nothing for files. */
  }
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    try {
      localStorage.setItem("nearkin-theme", root.dataset.theme);
    } catch {
      /* The same. */
    }
    name();
  });
  system.addEventListener("change", name);
  name();
}

theme();
head();
overview();
browse();
if (data.totals.documents) charts();
else curve();
let resizing = 0;
let width = innerWidth;
addEventListener("resize", () => {
  if (innerWidth === width || !data.totals.documents) return;
  width = innerWidth;
  clearTimeout(resizing);
  resizing = setTimeout(charts, 150);
});
