// Asks whether the first request has come, while somebody looks at the page.

async function check() {
  const place = document.getElementById("arrival");
  if (!place || document.hidden) return;
  try {
    const answer = await fetch(place.dataset.poll, { headers: { Accept: "text/html" } });
    if (!answer.ok) return;
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("arrival");
    if (!fresh || fresh.dataset.key === place.dataset.key) return;
    // The element stays, since a screen reader watches it.
    place.dataset.key = fresh.dataset.key;
    place.replaceChildren(...fresh.childNodes);
  } catch {
    // The daemon is gone, or starts again.
  }
}

setInterval(check, 1000);
