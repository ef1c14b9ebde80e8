// The list of pairs, and each pair with both texts.

// Pairs that stand out are drawn with the page, as far as there are not too many.
const DRAWN_MAX = 50;
// Whether all words of a pair are shown, by its place.
const wholes = new Set();

function head() {
  document.title = data.title + " - shared passages";
  at("title").textContent = data.title;
  const { texts, pairs, stand_out: out, incomplete } = data.totals;
  at("meta").textContent =
    `${counted(texts, "text")}. Made ${time(data.made, 60 * SECOND)} UTC.`;
  const strong = (text) => make("strong", null, text);
  if (!pairs) {
    put(at("lead"), "No two texts share ", strong(`${data.run} words`), " in a row.");
  } else {
    put(
      at("lead"),
      strong(counted(pairs, "pair")),
      ` of texts ${pairs === 1 ? "shares" : "share"} a run of words; `,
      strong(whole(out)),
      ` ${out === 1 ? "stands" : "stand"} out.`,
    );
    put(
      at("usual"),
      "A pair stands out (!) if its longest run has at least 12 words, and twice as many as those of " +
        "nearly all other pairs here: what many texts share, such as names and set phrases, is usual. " +
        "The page does not say who copied from whom, or whether both quote the same source.",
    );
  }
  const bounded = data.shown.pairs < pairs
    ? ` It has the ${whole(data.shown.pairs)} pairs of the longest runs; nearkin pairs prints all.`
    : "";
  const early = incomplete
    ? ` ${counted(incomplete, "pair")} repeat the same words over and over and were not compared to the end.`
    : "";
  const changed = data.shown.texts_changed
    ? ` ${counted(data.shown.texts_changed, "text")} changed since they were added, and are not here.`
    : "";
  put(
    at("footer"),
    paragraph(
      `Made by nearkin ${data.version}, which finds every run of ${data.run} words that two texts ` +
        `share.${bounded}${early}${changed} This page loads nothing from elsewhere.`,
    ),
    paragraph(`${data.params}. State after change ${whole(data.change)}.`),
  );
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

function nameOfText(document) {
  const file = fileOf(document);
  return file ? make("a", { href: file, ...ELSEWHERE }, keyOf(document.key)) : keyOf(document.key);
}

const textsOf = ({ a, b }) => [data.documents[a], data.documents[b]];

function search() {
  const words = at("search").value.trim().toLowerCase();
  const only = at("only").checked;
  const holds = (pair) => textsOf(pair).some(({ key }) => key.toLowerCase().includes(words));
  list.found = data.pairs
    .map((_, place) => place)
    .filter((place) => (!only || data.pairs[place].stands_out) && holds(data.pairs[place]));
  list.shown = 0;
  const all = counted(data.pairs.length, "pair");
  at("count").textContent =
    list.found.length < data.pairs.length ? `${whole(list.found.length)} of ${all}` : all;
  at("list").replaceChildren();
  if (!list.found.length) {
    at("list").append(make("p", { class: "empty" }, "No pair on this page is one of these."));
    return;
  }
  list.body = make("tbody");
  const heads = [["Longest run", true], ["Words", true], ["Text"], ["shared", true], ["Other text"], ["shared", true]];
  at("list").append(tableOf({ class: "pairs" }, unseenCaption("Pairs of texts, the longest run first"), heads, list.body));
  more();
}

function row(place) {
  const pair = data.pairs[place];
  const [a, b] = textsOf(pair);
  const open = buttonOf(keyOf(a.key), { class: "row", "aria-label": `Show ${a.key} beside ${b.key}` }, () => show(place));
  return rowWith(
    make(
      "td",
      { class: "number", "data-name": "longest run" },
      pair.stands_out ? make("span", { class: "out", title: "stands out" }, "! ") : null,
      whole(pair.longest),
    ),
    make("td", { class: "number", "data-name": "words" }, whole(pair.words)),
    make("th", { scope: "row", class: "text" }, open),
    make("td", { class: "number" }, percent(pair.share_of_a)),
    make("td", { class: "text" }, keyOf(b.key)),
    make("td", { class: "number" }, percent(pair.share_of_b)),
  );
}

// Draws a pair, if it is not there, and goes to it.
function show(place) {
  if (!at(`case${place}`)) {
    const after = [...at("cases").children].find((one) => Number(one.dataset.place) > place);
    at("cases").insertBefore(caseOf(place), after || null);
  }
  const article = at(`case${place}`);
  article.scrollIntoView();
  article.querySelector("h3").focus({ preventScroll: true });
}

// Why a text is not here.
function absent({ text }) {
  if (text === "changed") return "it has changed since it was added; add it again to compare it";
  if (text === "missing")
    return "it was not found by its key; make the page with --from FILE.jsonl, which holds the texts";
  return data.shown.texts_asked
    ? "the page has room for a limited amount of text; with a smaller --clusters there is more for each"
    : "this page was made without texts";
}

function caseOf(place) {
  const pair = data.pairs[place];
  const [a, b] = textsOf(pair);
  const title = make("h3", { tabindex: "-1" }, nameOfText(a), " and ", nameOfText(b));
  const article = make("article", { class: "case", id: `case${place}`, "data-place": place }, title);
  const early = pair.complete ? "" : " They repeat the same words over and over and were not compared to the end.";
  const out = pair.stands_out ? [make("span", { class: "out" }, "! Stands out."), " "] : [];
  const drawn = texts(pair, place, [a, b]);
  put(
    article,
    make(
      "p",
      null,
      ...out,
      `${counted(pair.words, "word")} shared, ${whole(pair.longest)} in one run: ` +
        `${percent(pair.share_of_a)} of the first text, ${percent(pair.share_of_b)} of the second.${early}`,
    ),
    passageTable(pair, place, drawn),
    drawn,
  );
  return article;
}

// A passage has a link to where it is drawn. It is not if the page lacks a text, or that part of it.
function passageTable({ passages }, place, drawn) {
  const ids = new Set(drawn.flatMap((part) => [...part.querySelectorAll(".p[id]")].map(({ id }) => id)));
  const range = ([from, to]) => `${whole(from + 1)} to ${whole(to)}`;
  const rows = passages.map((one, number) => {
    const label = make("span", { class: "number-of" }, String(number + 1));
    const colour = `p p${number % COLOURS}`;
    const id = [`a${place}-${number}`, `b${place}-${number}`].find((one) => ids.has(one));
    return rowWith(
      headCell(id ? make("a", { class: colour, href: `#${id}` }, label) : make("span", { class: colour }, label)),
      numberCell(whole(one.words)),
      numberCell(whole(one.longest)),
      numberCell(range(one.a_words)),
      numberCell(range(one.b_words)),
    );
  });
  const heads = [["Passage"], ["Equal words", true], ["In one run", true], ["Words of the first", true], ["Of the second", true]];
  return tableOf({ class: "passages" }, unseenCaption("Passages that both texts have"), heads, bodyOf(rows));
}

function texts(pair, place, both) {
  const held = ({ text }) => text && typeof text === "object";
  if (!both.every(held)) {
    return both
      .filter((one) => !held(one))
      .map((one) => make("p", { class: "note" }, "No text of ", keyOf(one.key), ": ", absent(one), "."));
  }
  const [left, right] = both.map(({ text }) => data.texts[text.at]);
  const parts = [];
  if (left.cut || right.cut) {
    const most = byteCount(data.shown.text_bytes_max);
    parts.push(note(`This page has the first ${most} of a text; passages behind that are in the list alone.`));
  }
  const bytes = [left, right].map(({ text }) => new TextEncoder().encode(text).length);
  const here = pair.passages
    .map((one, number) => ({ ...one, number }))
    .filter(({ a, b }) => a[1] <= bytes[0] && b[1] <= bytes[1]);
  const showAll = wholes.has(place);
  const again = () => {
    if (!wholes.delete(place)) wholes.add(place);
    at(`case${place}`).replaceWith(caseOf(place));
    at(`whole${place}`).focus();
  };
  const name = showAll ? "Leave out what is not shared" : "Show all words";
  const state = { class: "quiet small", id: `whole${place}`, "aria-pressed": String(showAll) };
  parts.push(make("p", { class: "screen-only" }, buttonOf(name, state, again)));
  const heads = both.map((one) => make("span", null, keyOf(one.key)));
  parts.push(besideEachOther(heads, [left.text, right.text], here, place, showAll));
  return parts;
}

theme();
head();
if (data.pairs.length) {
  at("browser").hidden = false;
  at("search").addEventListener("input", search);
  at("only").addEventListener("change", search);
  at("filter").addEventListener("submit", (event) => event.preventDefault());
  search();
  const drawn = data.pairs.map((_, place) => place).filter((place) => data.pairs[place].stands_out);
  at("cases").append(...drawn.slice(0, DRAWN_MAX).map(caseOf));
  if (drawn.length > DRAWN_MAX)
    put(at("usual"), ` The first ${DRAWN_MAX} that stand out are below; the others open from the list.`);
}
// All pairs of the list are printed, not only those on the screen.
addEventListener("beforeprint", () => {
  while (list.shown < list.found.length) more();
});
