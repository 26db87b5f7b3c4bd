// What pages do beyond their HTML: live parts, keys, the palette, confirmations, upload names. Pages work without it.
"use strict";

(() => {
  const root = document.documentElement;
  root.classList.add("scripted");

  // Live parts: fetch this page again and put the part with the same id in its place.
  const busy = new Set();

  async function refresh(part) {
    if (busy.has(part.id) || document.hidden || inUse(part)) return;
    busy.add(part.id);
    try {
      const answer = await fetch(location.href, {credentials: "same-origin"});
      if (answer.redirected && new URL(answer.url).pathname !== location.pathname) return location.reload();
      if (!answer.ok) throw new Error(answer.status);
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById(part.id);
      if (fresh && !inUse(part)) replace(part, fresh);
      part.classList.remove("stale");
    } catch {
      part.classList.add("stale");
    } finally {
      busy.delete(part.id);
    }
  }

  // What was opened or ticked in a part stays so, and the keyboard stays where it was.
  function replace(part, fresh) {
    for (const open of part.querySelectorAll("details[open][id]")) fresh.querySelector(`#${CSS.escape(open.id)}`)?.setAttribute("open", "");
    const ticked = [...part.querySelectorAll("input[type=checkbox]:checked")].map((box) => `${box.name} ${box.value}`);
    const focused = part.contains(document.activeElement) ? placeOf(document.activeElement) : "";
    if (fresh.innerHTML === part.innerHTML) return;
    part.replaceChildren(...fresh.childNodes);
    for (const box of part.querySelectorAll("input[type=checkbox]")) if (ticked.includes(`${box.name} ${box.value}`)) box.checked = true;
    if (focused) part.querySelector(focused)?.focus({preventScroll: true});
    part.dispatchEvent(new Event("change", {bubbles: true}));
  }

  function placeOf(element) {
    if (element.id) return `#${CSS.escape(element.id)}`;
    const link = element.getAttribute("href");
    return link ? `a[href="${CSS.escape(link)}"]` : "";
  }

  // A part is left alone while somebody types, has typed, marks a text or answers a question.
  function inUse(part) {
    const typing = part.contains(document.activeElement) && document.activeElement.matches("input:not([type=checkbox]),textarea,select");
    const selection = getSelection();
    const marking = !selection.isCollapsed && part.contains(selection.anchorNode);
    return typing || marking || hasTyped(part) || document.querySelector("dialog[open]");
  }

  function hasTyped(part) {
    return [...part.querySelectorAll("input,textarea")].some((each) => !each.matches("[type=checkbox],[type=hidden]") && each.value !== each.defaultValue);
  }

  // The stream says when to fetch; now and then it is done anyway, for the times in words, and where there is no stream.
  // A tab that nobody sees holds no connection: a browser has but a few of them for one server.
  function follow(part) {
    const every = Number(part.dataset.live) * 1000;
    let events;
    const listen = () => {
      if (events || document.hidden || !part.dataset.stream || !("EventSource" in window)) return;
      let waiting = 0;
      const soon = () => { if (!waiting) waiting = setTimeout(() => { waiting = 0; refresh(part); }, 250); };
      events = new EventSource(part.dataset.stream);
      for (const name of ["message", "changed", "reset"]) events.addEventListener(name, soon);
    };
    const hush = () => { events?.close(); events = undefined; };
    listen();
    if (every > 0) setInterval(() => refresh(part), every);
    addEventListener("pagehide", hush);
    document.addEventListener("visibilitychange", () => {
      if (document.hidden) return hush();
      listen();
      refresh(part);
    });
  }

  // Keys: an element says its own with data-key, `r` or `g j`.
  let typed = "";
  let forget = 0;

  function onKey(event) {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
      event.preventDefault();
      return openPalette();
    }
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input,textarea,select,dialog[open]")) return;
    if (event.key === "?") return showKeys();
    if (event.key.length !== 1) return;
    clearTimeout(forget);
    forget = setTimeout(() => { typed = ""; }, 900);
    typed = `${typed} ${event.key}`.trim();
    const wanted = withKey(typed) || withKey(event.key);
    if (!wanted) return;
    typed = "";
    event.preventDefault();
    use(wanted);
  }

  function withKey(key) {
    return document.querySelector(`[data-key="${CSS.escape(key)}"]`) ||
      [...document.querySelectorAll("[data-key]")].find((each) => each.dataset.key === key);
  }

  function use(element) {
    if (element.matches("input,textarea,select")) { element.focus(); element.select?.(); } else element.click();
  }

  function commands() {
    return [...document.querySelectorAll("[data-command]")].filter((each) => !each.disabled);
  }

  function textOf(element) {
    const own = element.cloneNode(true);
    own.querySelectorAll(".count").forEach((each) => each.remove());
    return own.textContent.trim();
  }

  function dialogOf(...children) {
    const dialog = document.createElement("dialog");
    dialog.append(...children);
    dialog.addEventListener("close", () => dialog.remove());
    dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
    document.body.append(dialog);
    dialog.showModal();
    return dialog;
  }

  function showKeys() {
    const heading = document.createElement("h2");
    heading.textContent = "Keys";
    const list = document.createElement("ul");
    const known = [...document.querySelectorAll("[data-key]")].map((each) => [each.dataset.key, textOf(each) || each.getAttribute("aria-label") || ""]);
    for (const [key, label] of [...known, ["?", "These keys"], ["Ctrl K", "Go somewhere or do something"]]) {
      const item = document.createElement("li");
      const line = document.createElement("span");
      const keys = document.createElement("span");
      for (const each of key.split(" ")) {
        const shown = document.createElement("kbd");
        shown.textContent = each;
        keys.append(shown, " ");
      }
      line.append(label, keys);
      item.append(line);
      list.append(item);
    }
    dialogOf(heading, list);
  }

  function openPalette() {
    if (document.querySelector("dialog[open]")) return;
    const input = document.createElement("input");
    input.setAttribute("aria-label", "Go somewhere or do something");
    input.placeholder = "Go somewhere or do something";
    const list = document.createElement("ul");
    const dialog = dialogOf(input, list);
    const all = commands();
    const show = () => {
      const asked = input.value.toLowerCase();
      list.replaceChildren(...all.filter((each) => textOf(each).toLowerCase().includes(asked)).slice(0, 12).map((each) => {
        const item = document.createElement("li");
        const button = document.createElement("button");
        button.textContent = textOf(each);
        button.addEventListener("click", () => { dialog.close(); each.click(); });
        item.append(button);
        return item;
      }));
    };
    input.addEventListener("input", show);
    dialog.addEventListener("keydown", (event) => {
      const buttons = [...list.querySelectorAll("button")];
      const at = buttons.indexOf(document.activeElement);
      if (event.key === "Enter" && document.activeElement === input) { event.preventDefault(); buttons[0]?.click(); }
      if (event.key === "ArrowDown") { event.preventDefault(); (buttons[at + 1] || buttons[0])?.focus(); }
      if (event.key === "ArrowUp") { event.preventDefault(); (buttons[at - 1] || input).focus(); }
    });
    show();
    input.focus();
  }

  function onSubmit(event) {
    const asked = event.submitter?.dataset.confirm;
    if (asked && !confirm(asked)) event.preventDefault();
  }

  // A box with data-select-all ticks every box of that name in its form; data-selected tells how many are.
  function onTick(event) {
    const all = event.target.closest?.("[data-select-all]");
    if (all) for (const box of boxesOf(all)) box.checked = all.checked;
    for (const each of document.querySelectorAll("[data-select-all]")) {
      const boxes = boxesOf(each);
      const ticked = boxes.filter((box) => box.checked).length;
      each.checked = ticked > 0 && ticked === boxes.length;
      each.indeterminate = ticked > 0 && ticked < boxes.length;
      const told = each.form?.querySelector("[data-selected]");
      if (told) told.textContent = ticked ? `${ticked} selected` : "";
    }
  }

  function boxesOf(all) {
    return all.form ? [...all.form.elements].filter((each) => each.type === "checkbox" && each.name === all.dataset.selectAll) : [];
  }

  function onChange(event) {
    const box = event.target.closest("[data-upload]");
    if (!box) return;
    const names = [...event.target.files].map((file) => file.name);
    if (names.length) box.querySelector("[data-upload-text]").textContent = names.join("\n");
  }

  function onDrag(event) {
    document.querySelectorAll(".upload.over").forEach((each) => each.classList.remove("over"));
    if (event.type === "dragover") event.target.closest?.("[data-upload]")?.classList.add("over");
  }

  // On a phone the places stand in one line that scrolls: this one is brought into sight.
  function showPlace() {
    const place = document.querySelector(".nav a[aria-current]");
    const line = place?.closest(".nav");
    if (line) line.scrollLeft = place.offsetLeft - (line.clientWidth - place.offsetWidth) / 2;
  }

  showPlace();
  document.querySelectorAll("[data-live]").forEach(follow);
  document.addEventListener("keydown", onKey);
  document.addEventListener("submit", onSubmit);
  document.addEventListener("change", onChange);
  document.addEventListener("change", onTick);
  for (const type of ["dragover", "dragleave", "drop"]) document.addEventListener(type, onDrag);
})();
