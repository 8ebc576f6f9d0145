"use strict";
// One group: which measure is shown, and the numbers of the token that is pointed at. Without it
// the page still colours its tokens and switches between measures.
(() => {
  const radios = [...document.querySelectorAll("input[name=by]:not([disabled])")];
  const readout = document.querySelector(".readout");
  const numbers = new WeakMap(); // the element with data-numbers -> what it holds
  const PARTS = [
    ["logprob", "log-prob", (v) => `${shown(v)} (p ${shown(Math.exp(v))})`],
    ["learner", "learner", shown],
    ["log_ratio", "ratio", (v) => shown(Math.exp(v))],
    ["last_ratio", "last pass", (v) => shown(Math.exp(v))],
    ["clipped", "gradient", (v) => (v ? "cut" : "whole")],
    ["entropy", "entropy", (v) => `${shown(v)} nats`],
    ["kl", "log π/ref", shown],
    ["weight", "weight", signed],
  ];
  let now = null;

  function shown(value) {
    if (value === 0) return "0";
    const size = Math.abs(value);
    const near = Math.abs(value - 1);
    const digits = near > 1e-7 && near < 0.05 ? Math.max(3, 1 - Math.floor(Math.log10(near))) : 0;
    const text = digits ? value.toFixed(digits) : size < 1e-4 || size >= 1e5 ? value.toExponential(2) : String(+value.toPrecision(3));
    const [head, power] = text.split("e");
    const raised = power ? `·10${[...power.replace("+", "")].map((sign) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(sign)]).join("")}` : "";
    return head.replace("-", "−") + raised;
  }
  function signed(value) {
    return value > 0 ? `+${shown(value)}` : shown(value);
  }

  // An answer that was cut stands in two elements; the numbers are with the first.
  function first(box) {
    return "after" in box.dataset ? box.parentElement.querySelector("[data-numbers]") : box;
  }
  function read(box) {
    const holder = first(box);
    if (!numbers.has(holder)) numbers.set(holder, JSON.parse(holder.dataset.numbers));
    return numbers.get(holder);
  }
  function places(token) {
    const box = token.parentElement;
    const among = [...box.children].indexOf(token);
    const holder = first(box);
    if (holder === box) return { among, place: among };
    const before = holder.children.length;
    return { among: before + among, place: before + among + Number(holder.dataset.cut) };
  }

  function add(name, text, element) {
    const part = document.createElement("span");
    if (name) part.append(`${name} `);
    const value = document.createElement(element);
    value.textContent = text;
    part.append(value);
    readout.append(part);
  }
  function show(token) {
    if (now) now.classList.remove("now");
    now = token;
    readout.hidden = !token;
    if (!token) return;
    token.classList.add("now");
    const { among, place } = places(token);
    const found = read(token.parentElement);
    readout.replaceChildren();
    add(`token ${place + 1}`, token.textContent, "code");
    for (const [name, title, written] of PARTS) {
      const value = found[name] && found[name][among];
      if (value !== undefined && value !== null) add(title, written(value), "b");
    }
  }
  function tokenAt(target) {
    const token = target instanceof Element ? target.closest(".tokens > span") : null;
    return token && first(token.parentElement) ? token : null;
  }

  document.addEventListener("mouseover", (event) => {
    const token = tokenAt(event.target);
    if (token) show(token);
    else if (now && !now.parentElement.contains(document.activeElement)) show(null);
  });
  document.addEventListener("click", (event) => show(tokenAt(event.target)));
  document.addEventListener("focusin", (event) => {
    const box = event.target instanceof Element ? event.target.closest(".tokens") : null;
    if (box && box.firstElementChild && !(now && box.contains(now))) show(box.firstElementChild);
  });
  document.addEventListener("focusout", () => show(null));

  const steps = { ArrowRight: 1, ArrowLeft: -1 };
  document.addEventListener("keydown", (event) => {
    const box = event.target instanceof Element ? event.target.closest(".tokens") : null;
    if (event.key === "Escape") show(null);
    if (box && steps[event.key] && now && box.contains(now)) {
      const next = steps[event.key] > 0 ? now.nextElementSibling : now.previousElementSibling;
      if (next) {
        show(next);
        next.scrollIntoView({ block: "nearest" });
      }
      event.preventDefault();
    } else if (!event.ctrlKey && !event.metaKey && !event.altKey && !event.target.matches("input:not([type=radio]), select")) {
      choose(event);
    }
  });

  function choose(event) {
    const at = radios.findIndex((radio) => radio.checked);
    const all = [...document.querySelectorAll("input[name=by]")];
    const wanted = event.key === "m" ? radios[(at + 1) % radios.length] : all[Number(event.key) - 1];
    if (!/^[m1-9]$/.test(event.key) || !wanted || wanted.disabled) return;
    wanted.checked = true;
    remember(wanted.value);
    event.preventDefault();
  }

  // The address always says what is shown, and the ways to other groups keep it.
  function remember(by) {
    const changed = new URL(location.href);
    changed.searchParams.set("by", by);
    history.replaceState(null, "", changed);
    for (const link of document.querySelectorAll(".turn a[rel], article .number")) {
      const target = new URL(link.href);
      target.searchParams.set("by", by);
      link.href = target.href;
    }
  }
  const asked = new URL(location.href).searchParams.get("by");
  for (const radio of radios) {
    if (radio.value === asked) radio.checked = true; // in a file nobody else has read the address
    radio.addEventListener("change", () => remember(radio.value));
  }
  if (asked && radios.some((radio) => radio.value === asked)) remember(asked);
})();
