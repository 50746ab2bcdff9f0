// Comfort that every page has: copy buttons, and times in the reader's own zone.

const say = document.createElement("p");
say.className = "spoken";
say.setAttribute("role", "status");
document.body.append(say);

async function copy(button) {
  const source = button.dataset.copyFrom && document.getElementById(button.dataset.copyFrom);
  const text = source ? source.textContent : button.dataset.copy;
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Without a secure context there is no clipboard: a text that is selected can be copied by hand.
    const range = document.createRange();
    range.selectNodeContents(source || button);
    const selection = getSelection();
    selection.removeAllRanges();
    selection.addRange(range);
    if (!document.execCommand("copy")) return;
  }
  const label = button.textContent;
  button.textContent = "Copied";
  say.textContent = "Copied";
  setTimeout(() => { button.textContent = label; say.textContent = ""; }, 1500);
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-copy], button[data-copy-from]");
  if (button) copy(button);
});

// Buttons that only a script can serve are hidden until one runs.
document.documentElement.classList.add("scripted");

// On a phone the menu is wider than the screen: the page's own entry is to be seen.
const menu = document.querySelector(".menu ul");
const entry = menu?.querySelector("[aria-current]");
if (entry) menu.scrollLeft = entry.offsetLeft - (menu.clientWidth - entry.offsetWidth) / 2;
