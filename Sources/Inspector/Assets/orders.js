// Comfort for forms of orders: the next step without a button, the call as it is written, and people who are searched.

const parse = (text) => new DOMParser().parseFromString(text, "text/html");

function debounced(wait, run) {
  let timer;
  return (...values) => {
    clearTimeout(timer);
    timer = setTimeout(() => run(...values), wait);
  };
}

/// Puts what another page has in its main element in the place of this one's.
async function show(url) {
  const answer = await fetch(url, { headers: { Accept: "text/html" } });
  const main = parse(await answer.text()).querySelector("main");
  if (!main) return;
  const focused = document.activeElement?.id;
  document.querySelector("main").replaceWith(main);
  history.replaceState(null, "", url);
  if (focused) document.getElementById(focused)?.focus();
  begin();
}

let asked = 0;
const preview = debounced(200, async (form) => {
  const number = ++asked;
  const body = new URLSearchParams(new FormData(form));
  body.set("preview", "1");
  const answer = await fetch(form.action, { method: "POST", body, headers: { Accept: "text/html" } });
  const fresh = parse(await answer.text()).getElementById("sent");
  if (fresh && number === asked) document.getElementById("sent")?.replaceWith(fresh);
});

const search = debounced(150, async (input) => {
  const answer = await fetch(`${input.dataset.search}?search=${encodeURIComponent(input.value)}`);
  if (!answer.ok) return;
  const options = (await answer.json()).map(({ value, text }) => {
    const option = document.createElement("option");
    option.value = value;
    option.textContent = text;
    return option;
  });
  input.list?.replaceChildren(...options);
});

function begin() {
  for (const form of document.querySelectorAll("form[data-steps]")) {
    form.addEventListener("change", () => show(`${form.action}?${new URLSearchParams(new FormData(form))}`));
  }
  for (const form of document.querySelectorAll("form[data-preview]")) form.addEventListener("input", () => preview(form));
  for (const input of document.querySelectorAll("input[data-search]")) input.addEventListener("input", () => search(input));
}

begin();
