// Which words of two texts differ: in the page and not in the file, for so any two documents can
// be compared of which each is here once.

// More changed words than this are not aligned: it costs their square.
const EDITS_MAX = 1500;
// Equal words beyond this are folded, but for those next to a change.
const FOLD_MIN = 80;
const CONTEXT = 24;

const ALONE = "\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Thai}";
const WORD = new RegExp(`([${ALONE}]|[^\\s${ALONE}]+)(\\s*)`, "gu");
const ITEM = /([^\n]+)(\n*)/g;

// Words (or items) with the blanks behind them.
const split = (text) =>
  Array.from(text.matchAll(data.shown.sets ? ITEM : WORD), ([, word, gap]) => ({ word, gap }));

// Numbers for words, so that comparing costs the same for all.
function numbered(lists) {
  const numbers = new Map();
  return lists.map((list) =>
    Int32Array.from(list, ({ word }) => {
      if (!numbers.has(word)) numbers.set(word, numbers.size);
      return numbers.get(word);
    }),
  );
}

// Runs of equal and of differing words: {same, a: [from, to], b: [from, to]}, by the greedy
// algorithm of Myers (Algorithmica 1, 1986). None if too much differs.
function aligned(a, b) {
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head += 1;
  let tail = 0;
  while (
    tail < a.length - head &&
    tail < b.length - head &&
    a[a.length - 1 - tail] === b[b.length - 1 - tail]
  )
    tail += 1;
  const steps = edits(a.subarray(head, a.length - tail), b.subarray(head, b.length - tail));
  if (!steps) return null;
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
  push(true, head, head);
  for (const [same, dx, dy] of steps) push(same, dx, dy);
  push(true, tail, tail);
  return runs;
}

function edits(a, b) {
  const most = Math.min(a.length + b.length, EDITS_MAX);
  const middle = most + 1;
  const ends = new Int32Array(2 * most + 3);
  const trace = [];
  const down = (k, d, v, at) => k === -d || (k !== d && v[at + k - 1] < v[at + k + 1]);
  for (let d = 0; d <= most; d += 1) {
    trace.push(ends.slice(middle - d - 1, middle + d + 2));
    for (let k = -d; k <= d; k += 2) {
      let x = down(k, d, ends, middle) ? ends[middle + k + 1] : ends[middle + k - 1] + 1;
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x += 1;
      ends[middle + k] = x;
      if (x >= a.length && x - k >= b.length) return walkedBack(trace, a.length, b.length, down);
    }
  }
  return null;
}

function walkedBack(trace, x, y, down) {
  const steps = [];
  for (let d = trace.length - 1; d >= 0; d -= 1) {
    const [before, at, k] = [trace[d], d + 1, x - y];
    const from = down(k, d, before, at) ? k + 1 : k - 1;
    const beforeX = d ? before[at + from] : 0;
    const beforeY = d ? beforeX - from : 0;
    const equal = d ? Math.min(x - beforeX, y - beforeY) : x;
    if (equal > 0) steps.push([true, equal, equal]);
    if (d) steps.push(from === k + 1 ? [false, 0, 1] : [false, 1, 0]);
    [x, y] = [beforeX, beforeY];
  }
  return steps.reverse();
}

// Where no alignment is found: each word that the other text lacks, wherever it stands.
function lacking(own, other) {
  const there = new Set(other);
  return Array.from(own, (word) => !there.has(word));
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

// What there is to see of two texts.
function compared(leftText, rightText, foldEqual) {
  const [left, right] = [split(leftText), split(rightText)];
  const [a, b] = numbered([left, right]);
  const runs = aligned(a, b);
  if (runs) {
    const changed = runs.filter((run) => !run.same);
    const count = (side) => changed.reduce((sum, run) => sum + run[side][1] - run[side][0], 0);
    return {
      rows: rowsOf(left, right, runs, foldEqual),
      left: count("a"),
      right: count("b"),
      aligned: true,
    };
  }
  const [lackLeft, lackRight] = [lacking(a, b), lacking(b, a)];
  const each = (words, lack) => words.flatMap((word, place) => marked([word], lack[place]));
  return {
    rows: [{ left: each(left, lackLeft), right: each(right, lackRight) }],
    left: lackLeft.filter(Boolean).length,
    right: lackRight.filter(Boolean).length,
    aligned: false,
  };
}
