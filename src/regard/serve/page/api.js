// The server: requests, and what may go wrong with them as a `Problem` with a message for people.

export class Problem extends Error {
  /** kind: "offline", "busy", "key", "refused" or "server"; wait: seconds after which another try makes sense. */
  constructor(kind, message, wait = null) {
    super(message);
    this.kind = kind;
    this.wait = wait;
  }
}

let key = "";
export const useKey = text => { key = text.trim(); };

const address = path => new URL(path, document.baseURI);

export const get = (path, signal) => ask(path, { signal });
export const post = (path, body, signal) =>
  ask(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(key ? { ...body, api_key: key } : body), signal });

export function upload(path, fields, signal) {
  const form = new FormData();
  for (const [name, value] of Object.entries(key ? { ...fields, api_key: key } : fields)) form.append(name, value);
  return ask(path, { method: "POST", body: form, signal });
}

async function ask(path, options) {
  let answer;
  try {
    answer = await fetch(address(path), { ...options, headers: withKey(options.headers), credentials: "omit" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem("offline", "The server does not answer. It may have been stopped, or the network is down.", 2);
  }
  const content = await contentOf(answer);
  if (answer.ok && content !== undefined) return content;
  throw problemOf(answer, content);
}

const withKey = headers => key ? { ...headers, Authorization: `Bearer ${key}` } : headers;

async function contentOf(answer) {
  try { return await answer.json(); }
  catch (error) {
    if (error.name === "AbortError") throw error;
    return undefined;
  }
}

function problemOf(answer, content) {
  const told = messageIn(content);
  if (answer.status === 429) return new Problem("busy", "The server has too much to do, or you have reached your limit.", seconds(answer));
  if (answer.status === 503) return new Problem("busy", "The server is not ready yet.", seconds(answer));
  if (answer.status === 401 || answer.status === 403 || /api key/i.test(told)) return new Problem("key", told || "The server needs an API key.");
  if (answer.status === 413) return new Problem("refused", told || "This is too large for the server.");
  if (answer.status >= 400 && answer.status < 500) return new Problem("refused", told || `The server refused the request (${answer.status}).`);
  if (answer.ok) return new Problem("server", "The server sent an answer that is not JSON. Is there a proxy in between?");
  return new Problem("server", told ? `The server reports a problem: ${told}` : `The server has a problem (${answer.status}).`);
}

/** The message of an error in any of the forms that the server uses. */
function messageIn(content) {
  const inside = content?.error?.message ?? content?.error ?? content?.detail ?? content?.message;
  return typeof inside === "string" ? inside : Array.isArray(inside) && typeof inside[0]?.msg === "string" ? inside[0].msg : "";
}

function seconds(answer) {
  const wanted = Number(answer.headers.get("Retry-After"));
  return Number.isFinite(wanted) && wanted > 0 ? Math.min(wanted, 300) : 2;
}
