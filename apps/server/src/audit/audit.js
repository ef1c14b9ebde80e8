// The page of an audit: counts, and removed rows beside the kept row they are most like.

const placeOf = ({ key, file, line }) => (key == null ? `${file} line ${whole(line)}` : key);
const exact = (number) => (number >= 1 ? "1" : thousandths(number));
const shareOf = (count) => (data.removed ? percent(count / data.removed) : "-");

function counts() {
  const wrong = make("strong", null, counted(data.wrong, "removed row"));
  put(
    at("lead"),
    wrong,
    ` of ${whole(data.removed)} (${shareOf(data.wrong)}) ` +
      `${data.wrong === 1 ? "has" : "have"} no kept row of similarity ${plain(data.threshold)} or more.`,
  );
  const rows = data.wrong_at.map(([threshold, count]) => {
    const asked = threshold === data.threshold;
    const cells = [headCell(plain(threshold)), numberCell(whole(count)), numberCell(shareOf(count))];
    return make("tr", { class: asked ? "asked" : null }, cells);
  });
  const heads = [["Similarity"], ["Without such a kept row", true], ["Share", true]];
  const caption = unseenCaption("Wrong removals by threshold");
  at("counts").append(tableOf(null, caption, heads, bodyOf(rows)));
  const others = data.facts.map(([what, count]) => [what, whole(count)]);
  at("others").append(table("What else there is to know", ["Rows", "Number"], others, null));
}

// What is said of a removed row, above its text.
function about({ similarity, counts, apart, chained, settled }) {
  const parts = [];
  if (!counts) parts.push("No kept row was found that is similar to it.");
  else {
    const [own, other, shared] = counts;
    parts.push(
      `Exactly: ${counted(shared, "shingle")} of ${whole(own)} (removed) and ${whole(other)} (kept) ` +
        `${shared === 1 ? "is" : "are"} in both.`,
    );
  }
  if (similarity < data.threshold && chained)
    parts.push(`It is like another removed row (${exact(chained.similarity)}): ${placeOf(chained)}.`);
  if (apart === "numbers") parts.push("The two differ in numbers.");
  if (apart === "rare") parts.push("The two differ in words that few rows have.");
  if (!settled) parts.push("There were too many candidates: a kept row may be more similar.");
  return parts.join(" ");
}

function removal(row, place) {
  const { removed, kept, chained } = row;
  const other = kept || chained;
  const what = kept ? "kept" : "also removed";
  const title = kept ? `Similarity ${exact(row.similarity)}` : "Like no kept row";
  const parts = [make("h3", null, `${place + 1}. ${title}`), note(about(row))];
  if (!other) {
    const name = make("p", null, "Removed: ", keyOf(placeOf(removed)));
    return make("article", { class: "removal" }, parts, name, make("pre", null, removed.text));
  }
  const cut = removed.cut || other.cut;
  const view = compared(removed.text, other.text, { sets: data.sets, foldEqual: true, cut });
  parts.push(paragraph(verdict(view, cut, data.sets)));
  if (cut) parts.push(note("Long texts are cut on this page; the similarity is that of the whole texts."));
  const head = (name, one) => make("span", null, `${name}: `, keyOf(placeOf(one)));
  parts.push(beside([head("removed", removed), head(what, other)], view));
  return make("article", { class: "removal" }, parts);
}

function showAll() {
  at("meta").textContent = `${counted(data.removed, "removed row")}, ${whole(data.kept)} kept. ${data.params}`;
  counts();
  const [worst, apart] = [data.rows.filter((row) => !row.apart), data.rows.filter((row) => row.apart)];
  at("worst-note").textContent = worst.length
    ? `The ${counted(worst.length, "removed row")} least similar to what was kept, each beside the most similar kept row.`
    : "Every removed row has the shingles of a kept one, or is set apart from it only by numbers or rare words.";
  at("worst").append(...worst.map(removal));
  at("apart-section").hidden = !apart.length;
  at("apart").append(...apart.map(removal));
  at("footer").textContent = `Made by nearkin ${data.version}. This page loads nothing and sends nothing.`;
  theme();
}

showAll();
