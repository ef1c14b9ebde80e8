// A list that grows page by page: `found` are the places of what it lists, `shown` how many have a
// row, `body` the rows. The script of each page has a function `row`, which makes that of a place.
const PAGE = 50;
const list = { found: [], shown: 0 };

function more() {
  const next = list.found.slice(list.shown, list.shown + PAGE);
  list.body.append(...next.map(row));
  list.shown += next.length;
  const left = list.found.length - list.shown;
  const button = at("list").querySelector(".more");
  if (button) button.remove();
  if (left <= 0) return;
  const name = `Show ${Math.min(left, PAGE)} more of ${whole(left)}`;
  // The keyboard goes on where the new rows begin.
  const show = () => {
    const first = list.shown;
    more();
    list.body.rows[first].querySelector("button").focus();
  };
  at("list").append(buttonOf(name, { class: "more quiet" }, show));
}
