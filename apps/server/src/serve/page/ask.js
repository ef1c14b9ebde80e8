// Requests of the pages to their server. Paths are relative: a proxy may show the server below a
// path of its own.

const show = (id, text) => {
  if (at(id).textContent !== text) at(id).textContent = text;
};

async function ask(path, body) {
  const headers = { "content-type": "application/json" };
  const sent = body && { method: "POST", headers, body: JSON.stringify(body) };
  const response = await fetch(path, sent);
  const answer = await response.json();
  if (!response.ok) {
    const { kind: what, message, advice } = answer.error;
    if (what === "empty") throw new Error("There is nothing to compare in this text.");
    throw new Error(advice ? message + " (" + advice + ")" : message);
  }
  return answer;
}
