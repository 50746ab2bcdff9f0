// Keeps a page of sign-ins, or of one, as it is now: the server sends what changed, rendered as in the page.

const list = document.getElementById("flows");
const single = document.getElementById("flow");
const place = single || list;
const button = document.getElementById("live");

const spoken = document.createElement("p");
spoken.className = "spoken";
spoken.setAttribute("role", "status");
document.body.append(spoken);

let source, leave, isConnecting, retry, after = Number(place.dataset.after), paused = false, pause = 1000;

// At most one sentence every two seconds, the latest.
let sentence, speaking;
function say(text) {
  sentence = text;
  speaking ||= setTimeout(() => { spoken.textContent = sentence; speaking = undefined; }, spoken.textContent ? 2000 : 0);
}

function parsed(html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  return template.content;
}

// MARK: the list

function put(row) {
  const old = document.getElementById(row.id);
  const focused = old?.contains(document.activeElement);
  if (old && old.dataset.order === row.dataset.order) {
    old.replaceWith(row);
  } else {
    old?.remove();
    const order = Number(row.dataset.order);
    // What is older than the last row belongs to a page that isn't loaded yet.
    let next = list.firstElementChild;
    while (next && Number(next.dataset.order) > order) next = next.nextElementSibling;
    if (!next && document.getElementById("older")) return;
    list.insertBefore(row, next);
  }
  row.classList.add("fresh");
  if (focused) row.querySelector("a")?.focus();
  say(row.dataset.spoken);
}

function showRows(html) {
  const change = parsed(html).firstElementChild;
  after = Number(change.dataset.end) || after;
  for (const id of change.dataset.gone.split(" ")) if (id) document.getElementById(`flow-${id}`)?.remove();
  for (const row of [...change.children].reverse()) put(row);
  const oldest = Number(change.dataset.oldest);
  let last = list.lastElementChild;
  while (last && Number(last.dataset.order) < oldest) {
    last.remove();
    last = list.lastElementChild;
  }
  document.getElementById("no-flows").hidden = list.childElementCount > 0;
}

// MARK: one sign-in

function showFlow(html) {
  const focused = document.activeElement?.getAttribute("href");
  const scroll = single.querySelector(".flow-scroll")?.scrollLeft || 0;
  single.replaceChildren(parsed(html));
  const region = single.querySelector(".flow-scroll");
  if (region) region.scrollLeft = scroll;
  if (focused) [...single.querySelectorAll("a")].find((link) => link.getAttribute("href") === focused)?.focus();
  const badge = single.querySelector(".flow-facts .badge");
  if (badge) say(`${badge.textContent}: ${single.querySelector(".note")?.textContent || ""}`);
}

// MARK: the stream

const isWanted = () => !paused && !document.hidden && place.dataset.events;

async function connect() {
  clearTimeout(retry);
  if (source || isConnecting || !isWanted()) return;
  isConnecting = true;
  leave = await window.understudySeat();
  isConnecting = false;
  if (!leave || !isWanted()) {
    close();
    if (isWanted()) {
      if (single) glance(); else refresh();
      retry = setTimeout(connect, 3000);
    }
    return;
  }
  const address = place.dataset.events;
  source = new EventSource(`${address}${address.endsWith("?") ? "" : "&"}after=${after}`);
  source.addEventListener("hello", (event) => {
    // The daemon has started again: its numbers and its form token are others.
    if (event.data !== place.dataset.run) return location.reload();
    pause = 1000;
    show();
  });
  source.addEventListener("rows", (event) => (single ? showFlow : showRows)(event.data));
  source.addEventListener("reload", refresh);
  source.addEventListener("error", () => {
    close();
    retry = setTimeout(connect, pause);
    pause = Math.min(2 * pause, 10_000);
    show(true);
  });
}

// More has changed than an event holds: the page as it is now, at most once a second.
let refreshing;
function refresh() {
  refreshing ||= setTimeout(async () => {
    const answer = await fetch(location.href);
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    list.replaceChildren(...page.querySelectorAll("#flows > li"));
    after = Number(page.getElementById("flows").dataset.after);
    document.getElementById("no-flows").hidden = list.childElementCount > 0;
    document.querySelector(".flow-more")?.remove();
    const more = page.querySelector(".flow-more");
    if (more) {
      list.after(more);
      follow(more.querySelector("a"));
    }
    refreshing = undefined;
  }, 1000);
}

// Without a stream: one sign-in as it is now.
async function glance() {
  const answer = await fetch(location.href);
  if (!answer.ok) return;
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("flow");
  if (fresh && fresh.innerHTML !== single.dataset.shown) showFlow(fresh.innerHTML);
  if (fresh) single.dataset.shown = fresh.innerHTML;
}

function close() {
  clearTimeout(retry);
  source?.close();
  source = undefined;
  leave?.();
  leave = undefined;
}

function show(lost) {
  button.textContent = paused ? "Paused" : lost ? "Connecting…" : "Live";
  button.classList.toggle("lost", Boolean(lost) && !paused);
  button.setAttribute("aria-pressed", String(!paused));
}

button?.addEventListener("click", () => {
  paused = !paused;
  if (paused) close(); else connect();
  show();
});

// A browser keeps six connections to a host: a page that nobody sees leaves its own to others.
document.addEventListener("visibilitychange", () => (document.hidden ? close() : connect()));
addEventListener("pagehide", close);
addEventListener("pageshow", connect);
connect();

// MARK: older ones, by themselves

async function more(link) {
  const answer = await fetch(link.href);
  if (!answer.ok) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  for (const row of page.querySelectorAll("#flows > li")) if (!document.getElementById(row.id)) list.append(row);
  const next = page.getElementById("older");
  if (next) link.href = next.href; else link.parentElement.remove();
  if (next) follow(link);
}

function follow(link) {
  const watch = new IntersectionObserver(([entry]) => {
    if (!entry.isIntersecting) return;
    watch.disconnect();
    more(link);
  }, { rootMargin: "600px" });
  watch.observe(link);
}

const older = document.getElementById("older");
if (older && list.dataset.events) follow(older);

// MARK: how long ago

const spans = [[60, "s"], [60, "min"], [24, "h"], [Infinity, "d"]];
function ago(milliseconds) {
  let value = Math.max(0, Math.round(milliseconds / 1000));
  if (value < 5) return "just now";
  for (const [size, unit] of spans) {
    if (value < size) return `${value} ${unit} ago`;
    value = Math.floor(value / size);
  }
}
function count() {
  for (const time of list?.querySelectorAll("time[data-at]") ?? []) {
    const text = ago(Date.now() - Number(time.dataset.at));
    if (time.textContent !== text) time.textContent = text;
  }
}
if (list) {
  new MutationObserver(count).observe(list, { childList: true });
  setInterval(count, 5000);
  count();
}

// MARK: the filter, as it is typed

const filter = document.querySelector(".flow-filter");
let typing;
async function sift() {
  const query = new URLSearchParams([...new FormData(filter)].filter(([, value]) => value));
  const address = `${filter.action}?${query}`;
  const answer = await fetch(address, { headers: { Accept: "text/html" } });
  if (!answer.ok) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const fresh = page.getElementById("flows");
  history.replaceState(null, "", address);
  close();
  list.replaceChildren(...fresh.children);
  list.dataset.events = fresh.dataset.events;
  after = Number(fresh.dataset.after);
  const none = document.getElementById("no-flows");
  none.replaceChildren(...page.getElementById("no-flows").childNodes);
  none.hidden = list.childElementCount > 0;
  document.querySelector(".flow-more")?.remove();
  const more = page.querySelector(".flow-more");
  if (more) {
    list.after(more);
    follow(more.querySelector("a"));
  }
  connect();
}
if (list?.dataset.events) {
  filter?.addEventListener("input", () => {
    clearTimeout(typing);
    typing = setTimeout(sift, 250);
  });
}
