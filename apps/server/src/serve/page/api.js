// The page at `/api`: the OpenAPI document for people.

const nameOf = (reference) => reference.split("/").pop();

// What stands between backticks as code.
const prose = (text) =>
  text.split("`").map((part, place) => (place % 2 ? make("code", null, part) : part));

const isA = (schema, type) => [].concat(schema.type || []).includes(type);

// A type in a few words, with links to those that have a name.
function typeOf(schema) {
  if (!schema) return ["any"];
  if (schema.$ref) {
    const name = nameOf(schema.$ref);
    return [make("a", { href: "#type-" + name }, name)];
  }
  if (schema.enum) return [schema.enum.map((one) => JSON.stringify(one)).join(", ")];
  const choices = schema.oneOf || schema.allOf || schema.anyOf;
  if (choices && !schema.properties)
    return choices.filter((one) => one.type !== "null").flatMap((one, place) => [place ? " or " : "", ...typeOf(one)]);
  if (isA(schema, "array")) return ["list of ", ...typeOf(schema.items)];
  if (isA(schema, "object") && schema.properties) {
    const names = Object.entries(schema.properties);
    return [
      "{",
      ...names.flatMap(([name, one], place) => [place ? ", " : "", name + ": ", ...typeOf(one)]),
      "}",
    ];
  }
  const kinds = [].concat(schema.type || "any").filter((one) => one !== "null");
  let text = kinds.join(" or ");
  if (schema.minimum != null && schema.maximum != null)
    text += `, ${schema.minimum} to ${schema.maximum}`;
  if (schema.default != null) text += `, default ${JSON.stringify(schema.default)}`;
  return [text];
}

function fields(schema) {
  const required = new Set(schema.required || []);
  const rows = Object.entries(schema.properties).map(([name, one]) =>
    rowWith(
      make("td", null, make("code", null, name), required.has(name) ? "" : make("small", null, " optional")),
      make("td", null, typeOf(one), one.description ? make("small", null, " ", prose(one.description)) : null),
    ),
  );
  return tableOf({ class: "fields" }, unseenCaption("Fields"), [["Field"], ["Type"]], bodyOf(rows));
}

function route(path, method, operation, described) {
  const body = operation.requestBody;
  const answers = Object.entries(operation.responses).map(([status, given]) => {
    const response = given.$ref ? described.components.responses[nameOf(given.$ref)] : given;
    const content = Object.entries(response.content || {});
    const [media, { schema } = {}] = content[0] || [];
    return rowWith(
      make("td", null, status),
      make("td", null, prose(response.description), " ", media ? make("small", null, schema ? typeOf(schema) : media) : null),
    );
  });
  const holder = make(
    "section",
    { class: "route", id: operation.operationId },
    make("h3", null, make("span", { class: "method" }, method.toUpperCase()), " " + path),
    paragraph(prose(operation.summary + (operation.summary.endsWith("?") ? "" : "."))),
  );
  if (operation.parameters)
    put(holder, make("p", null, "Parameters: ", operation.parameters.map((one) => one.name + (one.required ? "" : "?")).join(", ")));
  if (body)
    put(holder, make("p", null, "Body: ", typeOf(body.content["application/json"].schema)));
  const heads = [["Status"], ["Answer"]];
  const table = tableOf({ class: "fields" }, unseenCaption("Answers"), heads, bodyOf(answers));
  return put(holder, make("details", null, make("summary", null, "Answers"), table));
}

async function describe() {
  const response = await fetch("openapi.json");
  const described = await response.json();
  if (!response.ok) throw new Error(described.error.message);
  put(emptied("about"), prose(described.info.description));
  for (const [path, item] of Object.entries(described.paths)) {
    for (const [method, operation] of Object.entries(item)) {
      if (method !== "parameters") at("routes").append(route(path, method, operation, described));
    }
  }
  for (const [name, schema] of Object.entries(described.components.schemas)) {
    const holder = make(
      "section",
      { class: "route", id: "type-" + name },
      make("h3", null, name),
      schema.description ? paragraph(prose(schema.description)) : null,
    );
    put(holder, schema.properties ? fields(schema) : paragraph(typeOf(schema)));
    at("types").append(holder);
  }
  const target = location.hash.length > 1 ? at(location.hash.slice(1)) : null;
  if (target) target.scrollIntoView();
}

theme();
describe().catch((error) => {
  at("trouble").textContent = "The description cannot be read: " + error.message;
});
