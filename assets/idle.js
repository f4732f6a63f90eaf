// Gradio's loading sign has a clock that asks for sixty frames a second. It goes on when the sign leaves the page before
// its work is said to be done, as that of the page itself always does: a page nobody touches kept a tenth of a processor
// busy. So a clock that began when there was one sign in the page ends with that sign.
(() => {
  const request = window.requestAnimationFrame.bind(window);
  let ticking = null; // the sign whose clock runs at this moment

  window.requestAnimationFrame = (callback) => {
    const sign = ticking ?? signOf(callback);
    if (!sign) return request(callback);
    return request((now) => {
      if (!sign.isConnected) return;
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
