// The clocks tick. A frozen one doesn't; nothing is read out for it.

const clocks = [...document.querySelectorAll("time[data-running]")].map((time) => ({
  time, distance: Number(time.dataset.clock) - Date.now(),
}));

function tick() {
  for (const { time, distance } of clocks) {
    const text = new Date(Date.now() + distance).toISOString();
    time.dateTime = text;
    time.querySelector(".clock-date").textContent = text.slice(0, 10);
    time.querySelector(".clock-time").textContent = text.slice(11, 19);
  }
}

if (clocks.length) setInterval(() => { if (!document.hidden) tick(); }, 1000);
