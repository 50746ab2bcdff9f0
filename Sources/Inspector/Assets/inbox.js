// Messages appear in the list as they are sent: the page is asked for again, and its list takes the place of the old one.

const list = document.getElementById("messages");
const news = document.getElementById("inbox-news");
let asking = false;
let again = false;

async function refresh() {
  if (asking) {
    again = true;
    return;
  }
  asking = true;
  try {
    const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
    if (answer.ok) show(new DOMParser().parseFromString(await answer.text(), "text/html"));
  } finally {
    asking = false;
    if (again) {
      again = false;
      refresh();
    }
  }
}

function show(page) {
  const fresh = page.getElementById("messages");
  if (!fresh) return;
  const known = new Set([...list.querySelectorAll("td a")].map((link) => link.href));
  const focused = list.contains(document.activeElement) ? document.activeElement.href : null;
  list.replaceChildren(...fresh.children);
  for (const link of list.querySelectorAll("td a")) {
    if (!known.has(link.href)) link.closest("tr").className = "inbox-fresh";
    if (link.href === focused) link.focus();
  }
  // "Delete all" comes with the first message, and goes with the last.
  document.querySelector(".title").replaceChildren(...page.querySelector(".title").children);
}

let events, leave, isConnecting, retry;

async function connect() {
  clearTimeout(retry);
  if (events || isConnecting || document.hidden) return;
  isConnecting = true;
  leave = await window.understudySeat();
  isConnecting = false;
  if (!leave || document.hidden) {
    close();
    if (document.hidden) return;
    refresh();
    retry = setTimeout(connect, 3000);
    return;
  }
  events = new EventSource(list.dataset.events);
  events.addEventListener("message", (event) => {
    const message = JSON.parse(event.data);
    news.textContent = `New for ${message.to}: ${message.subject ?? message.text}`;
    refresh();
  });
  events.addEventListener("deleted", refresh);
}

function close() {
  clearTimeout(retry);
  events?.close();
  events = undefined;
  leave?.();
  leave = undefined;
}

if (list?.dataset.events) {
  connect();
  addEventListener("pagehide", close);
  // What came while nobody saw the page is asked for.
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) return close();
    refresh();
    connect();
  });
}
