"use strict";
// Keeps a page up to date: asks now and then whether the run has changed, and if so fetches the
// page again and puts the parts that differ in place. Without this script the pages are the same,
// only still. Nothing here makes markup out of text of its own.
(() => {
  const news = document.body.dataset.live;
  if (!news) return;
  const QUICK = 1500, SLOW = 3000, SOON = 300, AGAIN = 60;
  let known = `"${document.body.dataset.version}"`, failures = 0, timer = 0;

  const later = (wait) => { clearTimeout(timer); timer = setTimeout(look, wait); };

  function isInUse(part) {
    const chosen = document.getSelection();
    const inside = chosen && !chosen.isCollapsed && part.contains(chosen.anchorNode);
    return inside || (part !== document.activeElement && part.contains(document.activeElement));
  }

  async function fetched(address, headers) {
    const answer = await fetch(address, { headers, cache: "no-store", credentials: "same-origin" });
    if (answer.status !== 304 && !answer.ok) throw new Error(String(answer.status));
    return answer;
  }

  async function swap() {
    const text = await (await fetched(location.href, {})).text();
    const fresh = new DOMParser().parseFromString(text, "text/html");
    let isWhole = true;
    if (document.querySelector("[data-again]") && !fresh.querySelector("[data-again]")) {
      location.reload(); // what this page waits for is there, and its own script reads it anew
      return false;
    }
    for (const part of document.querySelectorAll("[data-part]")) {
      const other = fresh.querySelector(`[data-part="${CSS.escape(part.dataset.part)}"]`);
      if (!other || other.innerHTML === part.innerHTML) continue;
      if (isInUse(part)) { isWhole = false; continue; }
      part.replaceChildren(...document.adoptNode(other).childNodes);
    }
    return isWhole;
  }

  function say(isGone) {
    const shown = document.getElementById("gone");
    if (shown) shown.hidden = !isGone;
  }

  async function look() {
    if (document.hidden) return;
    try {
      const more = document.querySelector("[data-more], [data-again]");
      const answer = await fetched(news, { "If-None-Match": known });
      const isNew = answer.status !== 304;
      if ((isNew || more) && (await swap()) && isNew) known = answer.headers.get("ETag");
      failures = 0;
      say(false);
      const isLive = document.querySelector(".badge.on") || isNew;
      const isSoon = document.querySelector("[data-again]");
      later(document.querySelector("[data-more]") ? AGAIN : isSoon ? SOON : isLive ? QUICK : SLOW);
    } catch {
      failures += 1;
      say(failures > 1);
      later(Math.min(30000, QUICK * 2 ** failures));
    }
  }

  document.addEventListener("visibilitychange", () => { if (!document.hidden) look(); });
  look();
})();
