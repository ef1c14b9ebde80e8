// Charts: plain SVG with axes, a readout under the pointer and by the arrow keys. By hand: this file
// is 16 KB of a report; uPlot 1.6.32 is 53 KB and draws on a canvas, which has no text to select,
// print or read by the arrow keys, and Observable Plot 0.6.17 with d3 is 490 KB.

// As wide as there is place, so that letters keep their size; set before drawing.
let WIDTH = 720;
const HEIGHT = 280;
// Of the digits of a label, at most; and the least gap between two labels.
const LETTER_WIDTH = 7.2;
const LABEL_GAP = 18;
const EDGE = { left: 58, right: 14, top: 14, bottom: 42 };

// Round numbers from 0 to at least `most`.
function roundTicks(most, count) {
  const raw = most / count;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = Math.max(
    [1, 2, 5, 10].find((digit) => digit * power >= raw) * power,
    Number.EPSILON,
  );
  const ticks = [];
  for (let tick = 0; tick < most + step; tick += step) ticks.push(tick);
  return ticks;
}

const short = (number) =>
  number >= 1e9
    ? number / 1e9 + " G"
    : number >= 1e6
      ? number / 1e6 + " M"
      : number >= 1e4
        ? number / 1e3 + " k"
        : whole(number);

// Counts from 0, by their logarithm where the largest would hide the others.
function countScale(counts, bottom, top) {
  const some = counts.filter((count) => count > 0).sort((a, b) => a - b);
  const most = some[some.length - 1];
  if (most >= 100 && most > 12 * some[Math.floor(some.length / 2)]) {
    const decades = Math.ceil(Math.log10(most));
    const ticks = [];
    const step = Math.ceil(decades / 5);
    for (let decade = 0; decade <= decades; decade += step) ticks.push(10 ** decade);
    const full =
      Math.max(decades, ticks.length > 1 ? Math.log10(ticks[ticks.length - 1]) : 1) + 0.3;
    // One is a little above the ground, so that it can be seen.
    const y = (count) =>
      count <= 0
        ? bottom
        : bottom - ((Math.log10(Math.max(count, 1)) + 0.3) / full) * (bottom - top);
    return { y, ticks, logarithmic: true };
  }
  const ticks = roundTicks(Math.max(most, 4), 4).filter((tick) => Number.isInteger(tick));
  const full = ticks[ticks.length - 1];
  return { y: (count) => bottom - (count / full) * (bottom - top), ticks, logarithmic: false };
}

const line = (x1, y1, x2, y2, name) => draw("line", { x1, y1, x2, y2, class: name });
const label = (x, y, text, anchor, name) =>
  draw("text", { x, y, "text-anchor": anchor || "middle", class: name || null }, text);

// The place of a share of the width.
const across = (share) => EDGE.left + share * (WIDTH - EDGE.left - EDGE.right);

// A mark on the ground, with its name.
const groundTick = (x, text) => {
  const bottom = HEIGHT - EDGE.bottom;
  return [line(x, bottom, x, bottom + 4, "tick"), label(x, bottom + 17, text)];
};

// The frame: horizontal rules with their numbers, names of both axes.
function frame(yTicks, y, format, xName, yName) {
  const parts = [];
  for (const tick of yTicks) {
    parts.push(line(EDGE.left, y(tick), WIDTH - EDGE.right, y(tick), "rule"));
    parts.push(label(EDGE.left - 8, y(tick) + 4, format(tick), "end"));
  }
  parts.push(label((EDGE.left + WIDTH - EDGE.right) / 2, HEIGHT - 4, xName, "middle", "name"));
  const middle = (EDGE.top + HEIGHT - EDGE.bottom) / 2;
  const name = label(0, 0, yName, "middle", "name");
  name.setAttribute("transform", `translate(11 ${middle}) rotate(-90)`);
  parts.push(name);
  return parts;
}

// A chart whose points can be read one by one. `points` have x (a place in the drawing) and text;
// `first` is where reading begins.
function chart(name, description, parts, points, first) {
  const cursor = line(0, EDGE.top, 0, HEIGHT - EDGE.bottom, "cursor");
  const size = { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, "aria-hidden": "true" };
  const svg = draw("svg", size, parts, cursor);
  const readout = make("p", { class: "readout", "aria-hidden": "true" });
  let now = first;
  const holder = make(
    "div",
    {
      class: "plot",
      tabindex: "0",
      role: "slider",
      "aria-label": name + ". " + description,
      "aria-valuemin": "0",
      "aria-valuemax": String(points.length - 1),
      "aria-orientation": "horizontal",
    },
    svg,
  );
  const show = (place) => {
    now = Math.max(0, Math.min(points.length - 1, place));
    const point = points[now];
    for (const side of ["x1", "x2"]) cursor.setAttribute(side, point.x);
    readout.textContent = point.text;
    holder.setAttribute("aria-valuenow", String(now));
    holder.setAttribute("aria-valuetext", point.text);
  };
  holder.addEventListener("pointermove", (event) => {
    const box = svg.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * WIDTH;
    let best = 0;
    points.forEach((point, place) => {
      if (Math.abs(point.x - x) < Math.abs(points[best].x - x)) best = place;
    });
    show(best);
  });
  holder.addEventListener("keydown", (event) => {
    const steps = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 10, PageDown: -10 };
    if (event.key in steps) show(now + steps[event.key]);
    else if (event.key === "Home") show(0);
    else if (event.key === "End") show(points.length - 1);
    else return;
    event.preventDefault();
  });
  show(first);
  return make("figure", null, make("figcaption", null, name), readout, holder);
}

// Bars that stand side by side; each has parts from the ground up: [count, class].
function bars(groups, scale, x) {
  return groups.map((group, place) => {
    const [left, right] = [x(place), x(place + 1)];
    const gap = Math.min(1.5, (right - left) / 5);
    let ground = HEIGHT - EDGE.bottom;
    let sum = 0;
    return group.parts.map(([count, name]) => {
      if (!count) return null;
      sum += count;
      const top = scale.y(sum);
      const [width, height] = [Math.max(right - left - gap, 0.5), Math.max(ground - top, 1)];
      const bar = draw("rect", { x: left + gap / 2, y: top, width, height, class: name });
      ground = top;
      return bar;
    });
  });
}

const legend = (...entries) => {
  const entry = ([name, text]) => make("li", null, make("span", { class: "swatch " + name }), text);
  return make("ul", { class: "legend" }, entries.map(entry));
};

const numbers = (caption, heads, rows) => folded("The numbers", table(caption, heads, rows));

// Pairs by similarity.
function histogram() {
  const { counts, similarities, rows_first: rowsFirst, rows_min: rowsMin, cut } = data.pairs;
  const holder = at("histogram");
  const all = counts.reduce((sum, count) => sum + count, 0);
  if (!all) {
    holder.append(paragraph("No two documents are similar enough to be compared."));
    return;
  }
  // Rows that share a bar; equal signatures stand alone, and so does what reaches the threshold.
  const together = Math.ceil(counts.length / 64);
  const groups = [];
  let end = counts.length - 1;
  const start = Math.max(0, Math.min(rowsMin - rowsFirst, end));
  const push = (from, to, name) => {
    const sum = counts.slice(from, to).reduce((total, count) => total + count, 0);
    groups.push({ from, to, sum, parts: [[sum, name]] });
  };
  if (start % together) push(0, start % together, "grey");
  for (let from = start % together; from < start; from += together)
    push(from, from + together, "grey");
  for (let from = start; from < end; from += together)
    push(from, Math.min(from + together, end), "strong");
  push(end, end + 1, "strong");
  const low = similarities[0];
  const x = (place) => {
    const from = place < groups.length ? groups[place].from : counts.length;
    return across(from / counts.length);
  };
  const bottom = HEIGHT - EDGE.bottom;
  const sums = groups.map((group) => group.sum);
  const scale = countScale(sums, bottom, EDGE.top);
  const name = scale.logarithmic ? "pairs (logarithmic)" : "pairs";
  const parts = frame(scale.ticks, scale.y, short, "similarity", name);
  parts.push(...bars(groups, scale, x).flat());
  const step = WIDTH < 560 ? 10 : 20;
  for (let tenth = Math.ceil(low * step) / step; tenth <= 1.0001; tenth += 1 / step) {
    let from = similarities.findIndex((similarity) => similarity >= tenth - 1e-6);
    if (from < 0) from = counts.length - 1;
    parts.push(...groundTick(across((from + 0.5) / counts.length), tenth.toFixed(2)));
  }
  const mark = across(start / counts.length);
  parts.push(line(mark, EDGE.top - 6, mark, bottom, "mark"));
  const range = (group) => {
    const [one, other] = [similarities[group.from], similarities[group.to - 1]];
    return group.to - group.from === 1 ? similar(one) : similar(one) + " to " + similar(other);
  };
  const text = (group) => {
    const equal = group.to === counts.length ? ", equal signatures" : "";
    const below = group.from < start ? ", below the threshold" : "";
    return "Similarity " + range(group) + equal + below + ": " + counted(group.sum, "pair");
  };
  const middle = (place) => (x(place) + x(place + 1)) / 2;
  const points = groups.map((group, place) => ({ x: middle(place), text: text(group) }));
  const first = groups.findIndex((group) => group.from >= start);
  const [title, read] = ["Pairs by similarity", `${groups.length} bars; arrow keys read them.`];
  const more =
    "There are more: counting ended after 20,000,000 pairs, those of copies not counted one by one.";
  const held = groups.filter((group) => group.sum);
  put(
    holder,
    paragraph(
      `${cut ? "At least " : ""}${counted(data.totals.pairs, "pair")} of estimated similarity ${plain(data.threshold)} and above. ` +
        "If many pairs lie near the threshold, a small change of it will alter the clusters.",
    ),
    chart(title, read, parts, points, Math.max(first, 0)),
    legend(
      ["strong", "reach the threshold"],
      ["grey", "below it; the lower, the fewer of them the index finds"],
    ),
    cut ? note(more) : null,
    numbers(title, ["Similarity", "Pairs"], held.map((group) => [range(group), whole(group.sum)])),
  );
}

// The S-curve.
function curve() {
  const { points, bands, rows, candidate, returned, error, safe } = data.curve;
  const bottom = HEIGHT - EDGE.bottom;
  const y = (chance) => bottom - chance * (bottom - EDGE.top);
  const path = (which) => {
    const at = (point, place) => `${across(place / 100).toFixed(1)} ${y(point[which]).toFixed(1)}`;
    return points.map((point, place) => (place ? "L" : "M") + at(point, place)).join("");
  };
  const inPercent = (chance) => chance * 100 + " %";
  const ticks = [0, 0.25, 0.5, 0.75, 1];
  const parts = frame(ticks, y, inPercent, "similarity of two documents", "chance");
  for (let tenth = 0; tenth <= 10; tenth += WIDTH < 560 ? 2 : 1)
    parts.push(...groundTick(across(tenth / 10), (tenth / 10).toFixed(1)));
  const mark = across(data.threshold);
  parts.push(
    line(mark, EDGE.top - 6, mark, bottom, "mark"),
    draw("path", { d: path(0), class: "curve thin" }),
    draw("path", { d: path(1), class: "curve" }),
  );
  const text = (at) =>
    `Similarity ${(at / 100).toFixed(2)}: compared ${percent(points[at][0])}, shown ${percent(points[at][1])}`;
  const readable = points.map((_, at) => ({ x: across(at / 100), text: text(at) }));
  const near = Math.round(data.threshold * 100);
  const above = Math.min(100, near + 10);
  const T = plain(data.threshold);
  put(
    at("curve"),
    paragraph(
      `Signatures are cut into ${counted(bands, "band")} of ${counted(rows, "row")}; two documents are ` +
        `compared if they share a band. Of pairs of similarity ${T}, ${percent(candidate)} are compared, and ` +
        `${percent(returned)} are estimated at ${T} or more (the standard error is ${plain(error)}). ` +
        `Of pairs of similarity ${(above / 100).toFixed(2)}, ${percent(points[above][1])} are shown.`,
    ),
    paragraph(
      `To find nearly all pairs of at least ${T}, use ${plain(safe)} (two standard errors less): then ` +
        `${percent(data.curve.returned_safe)} of those at exactly ${T} are shown, and some that are less similar.`,
    ),
    chart("Chance to be found, by similarity", "Arrow keys read it.", parts, readable, near),
    legend(
      ["line thin", "compared: the two share a band"],
      ["line", `shown: and are estimated at ${T} or more`],
      ["line dashed", `the threshold, ${T}`],
    ),
    numbers(
      "Chance to be found",
      ["Similarity", "Compared", "Shown"],
      points
        .filter((_, at) => at % 5 === 0)
        .map((point, at) => [(at / 20).toFixed(2), percent(point[0]), percent(point[1])]),
    ),
  );
}

// Documents by time.
function timeline() {
  const { span, first, last, spans } = data.growth;
  const holder = at("timeline");
  const documents = data.totals.documents;
  if (spans.length < 2) {
    const text =
      documents === 1
        ? `The one document was added on ${time(first, SECOND)} UTC.`
        : `All ${whole(documents)} documents were added ` +
          `${last - first < SECOND ? "at" : `from ${time(first, SECOND)} to`} ${time(last, SECOND)} UTC: there is no growth to show ` +
          "yet. A document counts when it was added or last replaced.";
    holder.append(paragraph(text));
    return;
  }
  const begin = spans[0][0];
  const count = Math.round((spans[spans.length - 1][0] - begin) / span) + 1;
  const groups = Array.from({ length: count }, (_, place) => ({
    begin: begin + place * span,
    documents: 0,
    later: 0,
    parts: [],
  }));
  for (const [start, all, later] of spans) {
    const group = groups[Math.round((start - begin) / span)];
    const parts = [[all - later, "grey"], [later, "strong"]];
    Object.assign(group, { documents: all, later, parts });
  }
  const x = (place) => across(place / count);
  const middle = (place) => (x(place) + x(place + 1)) / 2;
  const most = Math.max(...groups.map((group) => group.documents));
  const ticks = roundTicks(Math.max(most, 4), 4).filter((tick) => Number.isInteger(tick));
  const bottom = HEIGHT - EDGE.bottom;
  // Two kinds on each other need a plain scale.
  const y = (number) => bottom - (number / ticks[ticks.length - 1]) * (bottom - EDGE.top);
  const parts = frame(ticks, y, short, `added, each bar ${spanned(span)} (UTC)`, "documents");
  parts.push(...bars(groups, { y }, x).flat());
  // As many labels as there is room for.
  const room = time(begin, span).length * LETTER_WIDTH + LABEL_GAP;
  const every = Math.ceil((count * room) / (WIDTH - EDGE.left - EDGE.right));
  for (let place = 0; place < count; place += every) {
    if (middle(place) + (room - LABEL_GAP) / 2 > WIDTH) break;
    parts.push(...groundTick(middle(place), time(groups[place].begin, span)));
  }
  let total = 0;
  const points = groups.map((group, place) => {
    total += group.documents;
    const text =
      `${spanned(span)} from ${time(group.begin, span)}: ${counted(group.documents, "document")}, ` +
      `${whole(group.later)} similar to an earlier one; ${whole(total)} in all by then`;
    return { x: middle(place), text };
  });
  const later = data.totals.surplus;
  const [title, read] = ["Documents by the time they were added", `${count} bars; arrow keys read them.`];
  const held = groups.filter((group) => group.documents);
  put(
    holder,
    paragraph(
      `From ${time(first, span)} to ${time(last, span)}, ${counted(documents, "document")}; ` +
        `${whole(later)} of them came when a document of their cluster was there already.`,
    ),
    chart(title, read, parts, points, count - 1),
    legend(["grey", "new, or the first of a cluster"], ["strong", "similar to an earlier one"]),
    note("A document counts when it was added or last replaced; what was removed does not count."),
    numbers(
      "Documents by time",
      ["From (UTC)", "Documents", "Similar to an earlier one"],
      held.map((group) => [time(group.begin, span), whole(group.documents), whole(group.later)]),
    ),
  );
}
