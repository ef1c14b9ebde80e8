// Two texts beside each other, with the passages that they share: cut into rows so that a passage
// stands beside itself, where the texts have their passages in the same order.

// Equal words of an unshared stretch beyond this are left out, but for those next to a passage.
const APART_MAX = 60;
const APART_SHOWN = 20;
const COLOURS = 6;

// The parts of a text by their bytes, which is how the index counts.
function bytesOf(text) {
  const bytes = new TextEncoder().encode(text);
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  return { length: bytes.length, part: (from, to) => decoder.decode(bytes.subarray(from, to)) };
}

// The passages of the longest chain that has the same order in both texts, by words: each begins a
// row of its own. The others are in the row that they lie in.
function chainOf(passages) {
  const order = [...passages].sort((one, other) => one.a[0] - other.a[0]);
  const best = [];
  for (const passage of order) {
    const { a, b, words } = passage;
    const before = best.reduce((most, one) => {
      const { a: left, b: right } = one.passage;
      const fits = left[1] <= a[0] && right[1] <= b[0];
      return fits && (!most || one.sum > most.sum) ? one : most;
    }, null);
    best.push({ passage, before, sum: words + (before ? before.sum : 0) });
  }
  let last = best.reduce((most, one) => (!most || one.sum > most.sum ? one : most), null);
  const chain = [];
  for (; last; last = last.before) chain.unshift(last.passage);
  return chain;
}

// A word as texts are compared: without case, accents' spelling and signs.
const nameOf = (word) => {
  const name = word.normalize("NFKC").toLowerCase().replace(/[^\p{L}\p{M}\p{N}]+/gu, "");
  return name || word;
};

// The words of a passage on both sides, as [text, is equal].
function runsOf(left, right) {
  const words = (text) =>
    split(text, false).map(({ word, gap }) => ({ word: nameOf(word), gap, as: word + gap }));
  const [a, b] = [words(left), words(right)];
  const runs = aligned(a, b) || [{ same: true, a: [0, a.length], b: [0, b.length] }];
  const side = (list, name) =>
    runs.map((run) => [list.slice(...run[name]).map(({ as }) => as).join(""), run.same]);
  return [side(a, "a"), side(b, "b")];
}

// The words of a passage: those that are equal are marked.
function passageParts(runs, number, id) {
  const marks = runs.map(([text, same]) => {
    const blank = text.match(/\s*$/u)[0];
    const words = text.slice(0, text.length - blank.length);
    return same && words ? [make("mark", null, words), blank] : text;
  });
  const label = make("span", { class: "number-of", "aria-label": `Passage ${number + 1}` }, String(number + 1));
  return make("span", { class: `p p${number % COLOURS}`, id }, label, ...marks.flat());
}

// A stretch that is not shared; its middle is left out, unless all is wanted.
function apart(text, showAll, isFirst, isLast) {
  const words = showAll ? [] : [...text.matchAll(/\S+\s*/gu)];
  if (words.length <= APART_MAX) return [text];
  const head = isFirst ? 0 : APART_SHOWN;
  const tail = isLast ? 0 : APART_SHOWN;
  const from = head ? words[head].index : 0;
  const to = tail ? words[words.length - tail].index : text.length;
  const left = counted(words.length - head - tail, "word");
  return [text.slice(0, from), make("span", { class: "cut" }, `${left} left out`), text.slice(to)];
}

// What a text has between two places, with the passages in between.
function stretch(side, from, to, showAll) {
  const parts = [];
  let at = from;
  const plainTo = (end) => {
    if (end <= at) return;
    const isLast = end >= side.bytes.length;
    // Blanks behind the passage of the row before are not wanted here.
    const text = side.bytes.part(at, end).replace(parts.length ? /^$/ : /^[^\S\n]+/u, "");
    parts.push(...apart(text, showAll, at === 0, isLast));
    at = end;
  };
  for (const one of side.places) {
    const { range, number, runs } = one;
    if (range[1] <= at || range[0] >= to) continue;
    if (range[0] >= at && range[1] <= to) {
      plainTo(range[0]);
      parts.push(passageParts(runs, number, one.id));
    } else {
      // It overlaps one that is drawn already.
      const begin = Math.max(range[0], at);
      plainTo(begin);
      const text = side.bytes.part(begin, Math.min(range[1], to));
      parts.push(passageParts([[text, true]], number, one.id));
    }
    // A passage may be drawn in parts; the first one has its id.
    one.id = null;
    at = Math.min(range[1], to);
  }
  plainTo(to);
  return parts;
}

// The table of both texts. `heads` are the names of the sides; `place` tells pairs apart. Each passage
// has its number among all of the pair, some of which may not be here.
function besideEachOther(heads, [left, right], passages, place, showAll) {
  const sides = [left, right].map((text, side) => {
    const bytes = bytesOf(text);
    const name = side ? "b" : "a";
    const placeOf = ({ [name]: range, number }) => ({ range, number, id: `${name}${place}-${number}` });
    return { bytes, places: passages.map(placeOf) };
  });
  passages.forEach((_, at) => {
    const texts = sides.map(({ bytes, places }) => bytes.part(...places[at].range));
    const runs = runsOf(...texts);
    sides.forEach(({ places }, side) => {
      places[at].runs = runs[side];
    });
  });
  for (const { places } of sides) places.sort((one, other) => one.range[0] - other.range[0]);
  const cell = (side, from, to) =>
    make("td", { class: side ? "right" : "left" }, ...stretch(sides[side], from, to, showAll));
  const rows = [];
  const at = [0, 0];
  const rowTo = (to, kind) => {
    if (to.every((end, side) => end <= at[side])) return;
    rows.push(make("tr", { class: kind }, to.map((end, side) => cell(side, at[side], end))));
    to.forEach((end, side) => {
      at[side] = end;
    });
  };
  for (const { a, b } of chainOf(passages)) {
    rowTo([a[0], b[0]], "between");
    rowTo([a[1], b[1]], "passage");
  }
  rowTo(sides.map(({ bytes }) => bytes.length), "between");
  const caption = unseenCaption("Both texts beside each other; shared passages are marked and numbered");
  const columns = heads.map((head) => [head]);
  return make("div", { class: "beside" }, tableOf({ class: "texts shared" }, caption, columns, bodyOf(rows)));
}
