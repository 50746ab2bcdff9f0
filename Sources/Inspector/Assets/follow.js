// Parts of a page follow what happens: while the page is seen, it is asked for again every two seconds, and what has changed
// takes the place of what was there.

const pause = 2000;
const button = document.getElementById("live");
const parts = () => [...document.querySelectorAll("[data-follow]")];
const rowsOf = (part) => new Map([...part.querySelectorAll("[data-spoken]")].map((row) => [row.id, row.outerHTML]));
const known = new Map(parts().map((part) => [part.id, { html: part.innerHTML, rows: rowsOf(part) }]));

const spoken = document.createElement("p");
spoken.className = "spoken";
spoken.setAttribute("role", "status");
document.body.append(spoken);

function show(part, fresh) {
  const focused = part.contains(document.activeElement) ? document.activeElement : null;
  // Nothing is taken away from under somebody's hands.
  if (focused?.matches("input, select, textarea, button, summary")) return;
  const { html, rows } = known.get(part.id) ?? { rows: new Map() };
  if (html === fresh.innerHTML) return;
  const news = rowsOf(fresh);
  known.set(part.id, { html: fresh.innerHTML, rows: news });
  const regions = () => [...part.querySelectorAll("[tabindex]")];
  const scrolled = regions().map((region) => region.scrollLeft);
  const place = regions().indexOf(focused);
  part.replaceChildren(...fresh.childNodes);
  regions().forEach((region, number) => { region.scrollLeft = scrolled[number] ?? 0; });
  const link = focused?.getAttribute("href");
  if (link) [...part.querySelectorAll("a")].find((other) => other.getAttribute("href") === link)?.focus();
  if (place >= 0) regions()[place]?.focus();
  const changed = [...news].filter(([id, row]) => rows.get(id) !== row).map(([id]) => document.getElementById(id));
  for (const row of changed) row.classList.add("fresh");
  if (changed.length > 0) spoken.textContent = changed[0].dataset.spoken;
}

let timer, isPaused = false, isLost = false;

async function follow() {
  clearTimeout(timer);
  if (isPaused || document.hidden) return;
  const asked = location.href;
  try {
    const answer = await fetch(asked, { headers: { Accept: "text/html" } });
    if (answer.status === 404) return location.reload();
    if (location.href !== asked) return follow();
    if (answer.ok && !isPaused) {
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      // A daemon that was started again takes no forms of before.
      if (page.body.dataset.run !== document.body.dataset.run) return location.reload();
      for (const part of parts()) {
        const fresh = page.getElementById(part.id);
        if (fresh) show(part, fresh);
      }
    }
    isLost = !answer.ok;
  } catch {
    isLost = true;
  }
  label();
  clearTimeout(timer);
  timer = setTimeout(follow, pause);
}

function label() {
  if (!button) return;
  button.textContent = isPaused ? "Paused" : isLost ? "Connecting…" : "Live";
  button.classList.toggle("lost", isLost && !isPaused);
  button.setAttribute("aria-pressed", String(!isPaused));
}

button?.addEventListener("click", () => {
  isPaused = !isPaused;
  label();
  follow();
});
document.addEventListener("visibilitychange", follow);
document.addEventListener("follow", follow);
addEventListener("pagehide", () => clearTimeout(timer));
if (parts().length > 0) timer = setTimeout(follow, pause);
