/* Requests to the daemon. The browser adds the session's cookie by itself; no address has a secret. */

let tenant = null;
let signedOut = () => {};

export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/* The tenant for which an administrator looks and acts; null: the caller's own. */
export function actFor(name) {
  tenant = name;
}

/* Called when the daemon no longer knows the session. */
export function whenSignedOut(call) {
  signedOut = call;
}

function address(path, query) {
  const url = new URL(path, location.origin);
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value !== null && value !== undefined) url.searchParams.set(name, value);
  }
  return url;
}

export function tenantQuery() {
  return tenant === null ? {} : {tenant};
}

async function send(method, path, {query, body, signal} = {}) {
  const options = {method, signal, credentials: "same-origin", cache: "no-store"};
  if (body !== undefined) {
    options.headers = {"Content-Type": "application/json"};
    options.body = JSON.stringify(body);
  }
  const response = await fetch(address(path, query), options);
  if (response.ok) return response;
  let message = `the daemon answers ${response.status}`;
  try {
    message = (await response.json()).error ?? message;
  } catch {
    /* no JSON: the status has to do */
  }
  if (response.status === 401 && path !== "/v1/session") signedOut();
  throw new Refused(response.status, message);
}

export async function ask(method, path, options) {
  return (await send(method, path, options)).json();
}

function parseLines(text) {
  return text.split("\n").filter((line) => line).map((line) => JSON.parse(line));
}

/* One page of a list: its lines, and where the next page begins (null: nowhere). */
export async function page(path, query, signal) {
  const response = await send("GET", path, {query, signal});
  return {lines: parseLines(await response.text()), next: response.headers.get("Layover-Next")};
}

export async function all(path, query) {
  const found = [];
  let after = null;
  do {
    const part = await page(path, {...query, after});
    found.push(...part.lines);
    after = part.next;
  } while (after !== null);
  return found;
}

/* Calls take for each line of a stream, until it ends. */
export async function watch(path, query, signal, take) {
  const response = await send("GET", path, {query, signal});
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const {done, value} = await reader.read();
    if (done) return;
    rest += value;
    const lines = rest.split("\n");
    rest = lines.pop();
    for (const line of lines) if (line) take(JSON.parse(line));
  }
}
