// The list of sign-ins: how long ago each was, and the filter as it is typed. What happens is followed by follow.js.

const list = document.getElementById("sign-ins");

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
  for (const time of list.querySelectorAll("time[data-at]")) {
    const text = ago(Date.now() - Number(time.dataset.at));
    if (time.textContent !== text) time.textContent = text;
  }
}

new MutationObserver(count).observe(list, { childList: true });
setInterval(count, 5000);
count();

const filter = document.querySelector(".flow-filter");
let typing;

function sift() {
  const query = new URLSearchParams([...new FormData(filter)].filter(([, value]) => value));
  const address = `${filter.action}?${query}`;
  // A page of older ones isn't followed.
  if (!list.hasAttribute("data-follow")) return location.assign(address);
  history.replaceState(null, "", address);
  document.dispatchEvent(new Event("follow"));
}

filter.addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(sift, 250);
});
