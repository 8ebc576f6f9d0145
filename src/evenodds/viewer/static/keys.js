"use strict";
// Keys of all pages. An element with data-key="j" is what the key j presses. Nothing here makes
// markup out of text.
(() => {
  const typing = (element) => element.closest("input:not([type=radio]):not([type=checkbox]), select, textarea, [contenteditable]");
  const dialog = () => document.getElementById("keys");
  const arrows = { ArrowLeft: "k", ArrowRight: "j" };

  function press(name) {
    const found = document.querySelector(`[data-key="${CSS.escape(name)}"]`);
    if (!found) return false;
    found.click();
    return true;
  }

  function search() {
    const field = document.querySelector("input[type=search]");
    if (!field) return press("/");
    field.focus();
    field.select();
    return true;
  }

  function act(event) {
    const target = event.target instanceof Element ? event.target : document.body;
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return false;
    if (dialog() && dialog().open) return false;
    if (typing(target)) {
      if (event.key !== "Escape") return false;
      target.blur();
      return true;
    }
    if (event.key === "/") return search();
    if (event.key === "?" && dialog()) {
      dialog().showModal();
      return true;
    }
    if (arrows[event.key]) return !target.closest(".tokens, input, .scroll") && press(arrows[event.key]);
    return event.key.length === 1 && press(event.key);
  }

  document.addEventListener("keydown", (event) => {
    if (!event.defaultPrevented && act(event)) event.preventDefault();
  });
  document.addEventListener("click", (event) => {
    const target = event.target instanceof Element ? event.target : null;
    if (target && target.closest("[data-opens=keys]") && dialog()) dialog().showModal();
  });
})();
