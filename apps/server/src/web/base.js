// What all pages use: elements, numbers, times, keys, the theme. Text gets into a page by
// textContent only.

const SVG = "http:" + "//www.w3.org/2000/svg";

// The element with an id.
const at = (id) => document.getElementById(id);

// Children are elements or text.
function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name === "on") {
      for (const [event, listener] of Object.entries(value)) node.addEventListener(event, listener);
    } else if (value === true) {
      node.setAttribute(name, "");
    } else if (value !== false && value != null) {
      node.setAttribute(name, value);
    }
  }
  return put(node, ...children);
}

// Appends what there is.
function put(node, ...children) {
  for (const child of children.flat(2)) {
    if (child != null) node.append(child);
  }
  return node;
}

const make = (tag, attributes, ...children) =>
  fill(document.createElement(tag), attributes, children);
const draw = (tag, attributes, ...children) =>
  fill(document.createElementNS(SVG, tag), attributes, children);

const paragraph = (...children) => make("p", null, ...children);
const note = (...children) => make("p", { class: "note" }, ...children);
const numberCell = (...children) => make("td", { class: "number" }, ...children);
const headCell = (...children) => make("th", { scope: "row" }, ...children);
const rowWith = (...cells) => make("tr", null, ...cells);
const bodyOf = (rows) => make("tbody", null, rows);

// A button that calls `click`.
const buttonOf = (name, attributes, click) =>
  make("button", { type: "button", ...attributes, on: { click } }, name);

const wholeFormat = new Intl.NumberFormat("en-GB");
const whole = (number) => wholeFormat.format(number);
const counted = (number, one, many) =>
  whole(number) + " " + (number === 1 ? one : many || one + "s");
// An estimated similarity, as the command line prints it: equal signatures do not mean equal texts,
// and nothing below 1 is rounded up to 1.
const similar = (number) => (number >= 1 ? ">0.99" : thousandths(number));
const thousandths = (number) =>
  number < 1 && number >= 0.9995 ? "0.999" : number.toFixed(3);
const plain = (number) => String(Math.round(number * 1000) / 1000);

function percent(share) {
  if (share > 0 && share < 0.001) return "under 0.1\u00a0%";
  if (share < 1 && share > 0.999) return "over 99.9\u00a0%";
  return (share * 100).toFixed(1).replace(/^(0|100)\.0$/, "$1") + "\u00a0%";
}

const SECOND = 1000;
const DAY = 86400 * SECOND;

// A time in UTC, as precise as the span asks for. A time that no calendar has stays a number.
function time(ms, span) {
  const date = new Date(ms);
  if (Number.isNaN(date.getTime()) || date.getUTCFullYear() > 9999) return whole(ms) + " ms";
  const text = date.toISOString();
  if (span >= DAY) return text.slice(0, 10);
  return text.slice(0, 10) + " " + text.slice(11, span >= 60 * SECOND ? 16 : 19);
}
const day = (ms) => time(ms, DAY);
const between = (first, last) =>
  day(first) === day(last) ? day(first) : day(first) + " to " + day(last);

const SPANS = [
  ["year", 365 * DAY],
  ["day", DAY],
  ["hour", 3600 * SECOND],
  ["minute", 60 * SECOND],
  ["second", SECOND],
];

// "7 days", "1 hour".
function spanned(ms) {
  for (const [name, unit] of SPANS) {
    if (ms >= unit && ms % unit === 0)
      return ms === unit ? `1 ${name}` : whole(ms / unit) + " " + name + "s";
  }
  return whole(ms) + " ms";
}

const UNITS = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB"];

// "1 byte", "12.5 KiB", as the command line prints them.
function byteCount(number) {
  let unit = 0;
  while (number >= 1024 && unit < UNITS.length - 1) [number, unit] = [number / 1024, unit + 1];
  if (!unit) return counted(number, "byte");
  return number.toFixed(1) + "\u00a0" + UNITS[unit];
}

// A text that may wrap behind each separator of a path or a name, but not within a number.
const SEPARATED = /(?<=[/\\_-])(?=[^/\\_.-])|(?<=\.)(?=[^/\\_.\d-])/u;
const wrapping = (text) =>
  text.split(SEPARATED).flatMap((part, place) => (place ? [make("wbr"), part] : part));

// A key, isolated so that its letters cannot change the direction of those around them.
const keyOf = (text) => make("bdi", { class: "key" }, wrapping(text));

// Keys differ at both ends: what does not fit is left out in the middle. On a phone keys wrap.
const KEY_TAIL = 20;

// A key on one line: its end is always shown, its beginning as far as there is room.
function keyOnOneLine(text) {
  const letters = Array.from(text);
  const end = letters.length <= KEY_TAIL + 6 ? 0 : letters.length - KEY_TAIL;
  return make(
    "bdi",
    { class: "key line", title: text },
    end ? make("span", { class: "head" }, wrapping(letters.slice(0, end).join(""))) : null,
    make("span", null, wrapping(letters.slice(end).join(""))),
  );
}

// A key without its middle, where no element can stand.
function keyCut(text, most) {
  const letters = Array.from(text);
  if (letters.length <= most) return text;
  const tail = Math.ceil((most - 3) / 2);
  return letters.slice(0, most - 3 - tail).join("") + "..." + letters.slice(-tail).join("");
}

function emptied(id) {
  at(id).replaceChildren();
  return at(id);
}

// Tells screen readers.
function say(text) {
  at("said").textContent = text;
}

// A table: what it is called, its heads, each with whether numbers stand below it, and its body.
function tableOf(attributes, caption, heads, body) {
  const head = heads.map(([content, number]) =>
    make("th", { scope: "col", class: number ? "number" : null }, content),
  );
  return make("table", attributes, caption, make("thead", null, rowWith(head)), body);
}

// The name of a table that is plain to those who see it.
const unseenCaption = (text) => make("caption", { class: "unseen" }, text);

// The numbers of a chart as a table.
function table(caption, heads, rows, attributes) {
  const cellOf = (cell, column) => (column ? numberCell(cell) : headCell(cell));
  const body = bodyOf(rows.map((cells) => rowWith(cells.map(cellOf))));
  const columns = heads.map((text, column) => [text, column > 0]);
  return tableOf(attributes, make("caption", null, caption), columns, body);
}

const folded = (title, ...children) =>
  make("details", { class: "numbers" }, make("summary", null, title), children);

// Light or dark: as the system says, until somebody chooses.
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
