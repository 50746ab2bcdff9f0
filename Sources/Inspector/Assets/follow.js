// Parts of a page follow what happens elsewhere: they are asked for again while the page is seen.

const parts = () => [...document.querySelectorAll("[data-follow]")];
const known = new Map(parts().map((part) => [part.id, part.innerHTML]));

async function follow() {
  if (document.hidden) return;
  const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
  if (!answer.ok) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  for (const part of parts()) {
    const fresh = page.getElementById(part.id);
    // Nothing is taken away from under somebody's hands.
    if (!fresh || part.contains(document.activeElement) || known.get(part.id) === fresh.innerHTML) continue;
    known.set(part.id, fresh.innerHTML);
    part.replaceChildren(...fresh.childNodes);
  }
}

setInterval(() => follow().catch(() => {}), 2000);
document.addEventListener("visibilitychange", () => follow().catch(() => {}));
