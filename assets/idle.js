// Gradio's loading sign has a clock that asks for sixty frames a second, and goes on for ever when the sign leaves the
// page before its work is said to be done, as that of the page itself always does: a page nobody touched kept a tenth of
// a processor busy. So the clock that begins while there is one sign in the page, its first, ends with that sign.
(() => {
  const request = window.requestAnimationFrame.bind(window);
  let gone = false;
  let ticking = null; // the sign whose clock runs at this moment

  window.requestAnimationFrame = (callback) => {
    const sign = gone ? null : (ticking ?? signOf(callback));
    if (!sign) return request(callback);
    return request((now) => {
      gone = !sign.isConnected;
      if (gone) return;
      ticking = sign;
      try {
        callback(now);
      } finally {
        ticking = null;
      }
    });
  };

  function signOf(callback) {
    if (!/performance\.now\(\)/.test(callback)) return null; // no clock
    const signs = document.querySelectorAll("[data-testid=status-tracker]");
    return signs.length === 1 ? signs[0] : null;
  }
})();
