// Two texts side by side, as `compared` sees them; on a phone one below the other.

// Rows drawn at first; a press on a button draws as many more.
const ROWS_MAX = 400;

// What is said of a comparison, above it.
function verdict(view, cut, sets) {
  const [one, many] = sets ? ["item", "items"] : ["word", "words"];
  if (view.left + view.right === 0) {
    return view.rest || cut
      ? `As far as the two are compared, all ${many} are the same.`
      : `All ${many} are the same.`;
  }
  const counts = `${counted(view.left, one, many)} only on the left, ${whole(view.right)} only on the right.`;
  return view.aligned
    ? counts
    : `Too much differs to align the two; marked is what the other text lacks anywhere. ${counts}`;
}

// The table. `heads` are the names of the two sides.
function beside(heads, view) {
  const side = (runs, tag, name) => {
    const marks = runs.map(([text, differs]) => (differs ? make(tag, null, text) : text));
    return make("td", { class: name }, marks);
  };
  const rowOf = ({ folded: words, differs, left, right }) => {
    if (words) {
      const all = make("td", { colspan: "2" }, counted(words, "equal word"), " left out");
      return make("tr", { class: "folded" }, all);
    }
    const sides = [side(left, "del", "left"), side(right, "ins", "right")];
    return make("tr", { class: differs ? "differs" : "equal" }, sides);
  };
  const body = make("tbody");
  const table = tableOf(
    { class: "texts" },
    unseenCaption("The two documents side by side; what differs is marked"),
    heads.map((head, place) => [
      [make("span", { class: "swatch " + (place ? "ins" : "del"), "aria-hidden": "true" }), head],
    ]),
    body,
  );
  const holder = make("div", { class: "beside" }, table);
  let drawn = 0;
  const more = () => {
    const next = view.rows.slice(drawn, drawn + ROWS_MAX);
    body.append(...next.map(rowOf));
    drawn += next.length;
    const button = holder.querySelector("button.more");
    if (button) button.remove();
    const left = view.rows.length - drawn;
    if (!left) return;
    const name = `Show ${whole(Math.min(left, ROWS_MAX))} more of ${counted(left, "line")}`;
    holder.append(buttonOf(name, { class: "more quiet" }, more));
  };
  more();
  return holder;
}
