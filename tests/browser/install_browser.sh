#!/usr/bin/env bash
# Install a Chromium and a Chinese font for the browser tests, and Tesseract; does nothing when the first two are there.
# Usage: install_browser.sh PYTHON, the Python that has playwright.
set -euo pipefail

python=$1

has_chromium() {
  if [ -n "${CAUSALVIZ_CHROMIUM:-}" ]; then [ -x "$CAUSALVIZ_CHROMIUM" ]; else [ -x /usr/bin/chromium-headless-shell ]; fi
}
has_font() { command -v fc-list >/dev/null && [ -n "$(fc-list :lang=zh family)" ]; }

if has_chromium && has_font; then
  exit 0
fi
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  export DEBIAN_FRONTEND=noninteractive
  apt-get update || true # what is there may do
  apt-get install -y --no-install-recommends fontconfig fonts-noto-cjk || true
  # Debian has the headless shell; other distributions have the full browser, if any.
  apt-get install -y --no-install-recommends chromium-headless-shell ||
    apt-get install -y --no-install-recommends chromium || true
  # Some 5 s: lets the tests of text recognition run, which are skipped without it.
  apt-get install -y --no-install-recommends tesseract-ocr tesseract-ocr-chi-sim || true
fi
# Not Debian, not root, or a distribution whose chromium package is an empty shell.
if ! has_chromium && [ ! -x /usr/bin/chromium ]; then
  "$python" -m playwright install chromium
fi
