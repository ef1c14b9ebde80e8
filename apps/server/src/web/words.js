// Which words of two texts differ. The page aligns them, not the tool: any two documents of a
// cluster can be compared, each of which is in the page once.

// More edits than this are not aligned, in a stretch between two equal lines: time and memory are
// their square. A second or two at most.
const EDITS_MAX = 4000;
const ALIGN_MS_MAX = 4000;
// Equal words beyond this are folded, but for those next to a change.
const FOLD_MIN = 80;
const CONTEXT = 24;

const ALONE = "\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Thai}";
const WORD = new RegExp(`([${ALONE}]|[^\\s${ALONE}]+)(\\s*)`, "gu");
const ITEM = /([^\n]+)(\n*)/g;

// Words (or the items of a set, one a line) with the blanks behind them.
const split = (text, sets) =>
  Array.from(text.matchAll(sets ? ITEM : WORD), ([, word, gap]) => ({ word, gap }));

// Numbers for words or lines, so that comparing costs the same for all.
function numbered(lists, nameOf) {
  const numbers = new Map();
  return lists.map((list) =>
    Int32Array.from(list, (one) => {
      const name = nameOf(one);
      if (!numbers.has(name)) numbers.set(name, numbers.size);
      return numbers.get(name);
    }),
  );
}

// The lines of a text, as their number of words and these words' numbers.
function linesOf(words, numbers) {
  const lines = [];
  let from = 0;
  words.forEach(({ gap }, place) => {
    if (!gap.includes("\n") && place + 1 < words.length) return;
    lines.push({ count: place + 1 - from, name: numbers.subarray(from, place + 1).join(" ") });
    from = place + 1;
  });
  return lines;
}

const difference = (a, b) =>
  jsdiff.diffArrays(a, b, { maxEditLength: EDITS_MAX, timeout: ALIGN_MS_MAX });

// Runs of equal and of differing words: {same, a: [from, to], b: [from, to]}. Lines are aligned
// first, and the words between equal lines then, so that long texts cost little. None if too much
// differs.
function aligned(left, right) {
  const [a, b] = numbered([left, right], ({ word }) => word);
  const [linesA, linesB] = [linesOf(left, a), linesOf(right, b)];
  const lines = difference(...numbered([linesA, linesB], ({ name }) => name));
  const runs = [];
  let [x, y] = [0, 0];
  const push = (same, dx, dy) => {
    if (!dx && !dy) return;
    const last = runs[runs.length - 1];
    if (last && last.same === same) {
      last.a[1] += dx;
      last.b[1] += dy;
    } else {
      runs.push({ same, a: [x, x + dx], b: [y, y + dy] });
    }
    x += dx;
    y += dy;
  };
  // The words of a stretch without an equal line.
  const stretch = (toX, toY) => {
    const parts = difference(a.subarray(x, toX), b.subarray(y, toY));
    for (const { added, removed, count } of parts || [])
      push(!added && !removed, added ? 0 : count, removed ? 0 : count);
    return Boolean(parts);
  };
  if (!lines) return stretch(a.length, b.length) ? runs : null;
  let [lineX, lineY, toX, toY] = [0, 0, 0, 0];
  for (const { added, removed, count } of lines) {
    let words = 0;
    const equal = !added && !removed;
    for (let line = 0; line < count; line += 1)
      words += added ? linesB[lineY + line].count : linesA[lineX + line].count;
    if (!added) lineX += count;
    if (!removed) lineY += count;
    if (equal) {
      if (!stretch(toX, toY)) return null;
      push(true, words, words);
    }
    if (!added) toX += words;
    if (!removed) toY += words;
  }
  return stretch(toX, toY) ? runs : null;
}

// Where no alignment is found: each word that the other text lacks, wherever it stands. Where that
// text is cut, only up to the last word that it has.
function lacking(own, other, cut) {
  const there = new Set(other);
  const lacks = Array.from(own, (word) => !there.has(word));
  return cut ? lacks.fill(false, lacks.lastIndexOf(false) + 1) : lacks;
}

const textOf = (words) => words.map(({ word, gap }) => word + gap).join("");

// A run of words; the blanks behind its last one do not differ.
function marked(words, differs) {
  if (!words.length) return [];
  const { gap } = words[words.length - 1];
  const text = textOf(words);
  return differs
    ? [
        [text.slice(0, text.length - gap.length), true],
        [gap, false],
      ]
    : [[text, false]];
}

// Rows to be set side by side: each side a list of [text, differs]; or {folded: words left out}.
function rowsOf(left, right, runs, foldEqual) {
  const rows = [{ left: [], right: [] }];
  const put = (a, b, differs) => {
    const row = rows[rows.length - 1];
    if (differs) row.differs = true;
    row.left.push(...marked(a, differs));
    row.right.push(...marked(b, differs));
  };
  const next = () => rows.push({ left: [], right: [] });
  // Equal words; where both texts end a line, so does the row.
  const equal = (a, b) => {
    let from = 0;
    for (let place = 0; place < a.length; place += 1) {
      if (a[place].gap.includes("\n") && b[place].gap.includes("\n")) {
        put(a.slice(from, place + 1), b.slice(from, place + 1), false);
        next();
        from = place + 1;
      }
    }
    put(a.slice(from), b.slice(from), false);
  };
  runs.forEach(({ same, a, b }, place) => {
    const [own, other] = [left.slice(...a), right.slice(...b)];
    if (!same) {
      put(own, other, true);
      return;
    }
    // Where all is equal, its beginning and its end are shown.
    const before = place === 0 && runs.length > 1 ? 0 : CONTEXT;
    const after = place === runs.length - 1 && runs.length > 1 ? 0 : CONTEXT;
    if (!foldEqual || own.length < FOLD_MIN) {
      equal(own, other);
      return;
    }
    const end = own.length - after;
    equal(own.slice(0, before), other.slice(0, before));
    rows.push({ folded: end - before });
    next();
    equal(own.slice(end), other.slice(end));
  });
  return rows.filter((row) => row.folded || row.left.length || row.right.length);
}

// What there is to see of two texts. `sets`: they are items, one a line. `foldEqual`: leave out
// long equal stretches. `cut`: one or both are only the beginning of a text, so that what stands
// behind the last equal word is no difference: the other text may go on with it.
function compared(leftText, rightText, { sets, foldEqual, cut }) {
  const [left, right] = [split(leftText, sets), split(rightText, sets)];
  const runs = aligned(left, right);
  if (runs) {
    const last = runs[runs.length - 1];
    const rest = cut && last && !last.same ? runs.pop() : null;
    const changed = runs.filter((run) => !run.same);
    const count = (side) => changed.reduce((sum, run) => sum + run[side][1] - run[side][0], 0);
    return {
      rows: rowsOf(left, right, runs, foldEqual),
      left: count("a"),
      right: count("b"),
      aligned: true,
      rest: Boolean(rest),
    };
  }
  const [a, b] = numbered([left, right], ({ word }) => word);
  const [lackLeft, lackRight] = [lacking(a, b, cut), lacking(b, a, cut)];
  const each = (words, lack) => words.flatMap((word, place) => marked([word], lack[place]));
  return {
    rows: [{ left: each(left, lackLeft), right: each(right, lackRight), differs: true }],
    left: lackLeft.filter(Boolean).length,
    right: lackRight.filter(Boolean).length,
    aligned: false,
    rest: false,
  };
}
