// The clocks tick. A frozen one doesn't; nothing is read out for it.

// The map has each element's distance from this browser's clock. The elements are replaced when the world's clock is
// moved.
const distances = new WeakMap();

function tick() {
  for (const time of document.querySelectorAll("time[data-running]")) {
    if (!distances.has(time)) distances.set(time, Number(time.dataset.clock) - Date.now());
    const distance = distances.get(time);
    const text = new Date(Date.now() + distance).toISOString();
    time.dateTime = text;
    time.querySelector(".clock-date").textContent = text.slice(0, 10);
    time.querySelector(".clock-time").textContent = text.slice(11, 19);
  }
}

tick();
setInterval(() => { if (!document.hidden) tick(); }, 1000);
