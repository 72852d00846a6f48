// The live page: takes what has changed from the stream, and replaces it; nothing else is loaded or sent.
"use strict";

(() => {
  const root = document.getElementById("live");
  const contents = document.querySelector("nav ul");
  const log = root.dataset.log;
  const holder = document.getElementById("sections");
  const state = document.getElementById("live-state");
  const news = document.getElementById("live-news");
  const spoken = document.getElementById("live-spoken");
  const title = document.title;

  const SILENT = 20000; // milliseconds without a sign of life before the connection counts as lost
  const AGAIN = 2000; // milliseconds before trying again where the browser does not
  const SPEAK = 30000; // milliseconds between two things that are read aloud, while it goes on as before

  let place = root.dataset.place;
  let source = null;
  let heard = performance.now();
  let connected = false;
  let over = false;
  let standing = { ...root.dataset, quiet: numberOf(root.dataset.quiet), now: Number(root.dataset.now) };
  let toldAt = performance.now();
  let spokeAt = -SPEAK;
  let waitingToSpeak = 0;
  let listed = "";
  const held = new Map(); // sections in which somebody has selected text: replaced once that is over

  for (const [key, version] of Object.entries(JSON.parse(root.dataset.versions))) {
    document.getElementById(key).dataset.version = version;
  }

  function numberOf(text) {
    return text === undefined || text === "" ? null : Number(text);
  }

  function connect() {
    if (source !== null) source.close();
    source = new EventSource(`events?log=${encodeURIComponent(log)}&after=${encodeURIComponent(place)}`);
    source.addEventListener("open", alive);
    source.addEventListener("beat", alive);
    source.addEventListener("page", (event) => {
      alive();
      place = event.lastEventId;
      take(JSON.parse(event.data));
    });
    source.addEventListener("anew", () => location.reload());
    source.addEventListener("over", () => {
      over = true;
      source.close();
      lose();
    });
    source.addEventListener("error", () => {
      lose();
      if (!over && source.readyState === EventSource.CLOSED) setTimeout(connect, AGAIN);
    });
  }

  function alive() {
    heard = performance.now();
    connected = true;
    show();
  }

  function lose() {
    connected = false;
    show();
  }

  function take(told) {
    const before = standing;
    standing = told;
    toldAt = performance.now();
    for (const [key, section] of Object.entries(told.sections)) replace(key, section);
    arrange(told.order);
    show();
    if (before.condition !== standing.condition) speak(0);
    else if (before.words !== standing.words) speak(spokeAt + SPEAK - performance.now());
  }

  // -- sections

  function replace(key, section) {
    const old = document.getElementById(key);
    if (old !== null && old.dataset.version === section.version) {
      held.delete(key);
      return;
    }
    if (old !== null && isSelected(old)) {
      held.set(key, section);
      return;
    }
    held.delete(key);
    const fresh = made(section.html);
    fresh.dataset.version = section.version;
    if (old === null) {
      holder.append(fresh);
      return;
    }
    const kept = remembered(old);
    old.replaceWith(fresh);
    restore(fresh, kept);
  }

  function made(html) {
    const template = document.createElement("template");
    template.innerHTML = html;
    return template.content.firstElementChild;
  }

  function isSelected(element) {
    const selection = document.getSelection();
    return selection !== null && !selection.isCollapsed && selection.containsNode(element, true);
  }

  function arrange(order) {
    const wanted = new Set(order);
    for (const child of [...holder.children]) if (!wanted.has(child.id)) child.remove();
    let at = holder.firstElementChild;
    for (const key of order) {
      const section = document.getElementById(key);
      if (section === null) continue;
      if (section === at) at = at.nextElementSibling;
      else holder.insertBefore(section, at);
    }
    listContents();
  }

  // The list of contents has a link for every section that is there.
  function listContents() {
    const sections = [...holder.children].filter((section) => section.querySelector("h2") !== null);
    const wanted = sections.map((section) => section.id).join();
    if (wanted === listed) return;
    listed = wanted;
    contents.replaceChildren(...sections.map((section) => {
      const item = document.createElement("li");
      const link = document.createElement("a");
      link.href = `#${section.id}`;
      link.textContent = section.querySelector("h2").textContent;
      item.append(link);
      return item;
    }));
  }

  const FOCUSABLE = "a[href], summary, button, input, select, textarea, [tabindex]";
  const SCROLLS = "[tabindex], .wide";

  function remembered(section) {
    const active = document.activeElement;
    const reachable = [...section.querySelectorAll(FOCUSABLE)];
    return {
      open: [...section.querySelectorAll("details")].map((details) => details.open),
      focus: active === section ? -2 : reachable.indexOf(active),
      scrolled: [...section.querySelectorAll(SCROLLS)].map((box) => [box.scrollLeft, box.scrollTop]),
    };
  }

  function restore(section, kept) {
    section.querySelectorAll("details").forEach((details, n) => {
      if (n < kept.open.length) details.open = kept.open[n];
    });
    section.querySelectorAll(SCROLLS).forEach((box, n) => {
      if (n < kept.scrolled.length) [box.scrollLeft, box.scrollTop] = kept.scrolled[n];
    });
    if (kept.focus === -2) section.focus({ preventScroll: true });
    const reachable = section.querySelectorAll(FOCUSABLE);
    if (kept.focus >= 0 && reachable.length > 0) {
      reachable[Math.min(kept.focus, reachable.length - 1)].focus({ preventScroll: true });
    }
  }

  // -- the line at the top

  function show() {
    const shown = connected ? standing.condition : over ? "over" : "lost";
    root.dataset.shown = shown;
    set(state, connected ? standing.name : over ? "no longer followed" : "connection lost, trying again");
    set(news, connected ? ago() : over ? "The command that showed this page has ended." : "");
    const name = connected ? standing.name : over ? "ended" : "connection lost";
    const wanted = `${name}: ${title}`;
    if (document.title !== wanted) document.title = wanted;
    const now = standing.now + (performance.now() - toldAt) / 1000; // by the clock of the server
    for (const time of document.querySelectorAll("time[data-since]")) {
      set(time, inWords(Math.max(Math.round(now - Date.parse(time.dateTime) / 1000), 0)));
    }
  }

  function set(element, text) {
    if (element.textContent !== text) element.textContent = text;
  }

  function ago() {
    if (standing.quiet === null) return standing.words;
    const seconds = Math.round(standing.quiet + (performance.now() - toldAt) / 1000);
    return `${standing.words} Last news ${inWords(seconds)} ago.`.trim();
  }

  function inWords(seconds) {
    if (seconds < 120) return `${seconds} s`;
    if (seconds < 7200) return `${Math.floor(seconds / 60)} min`;
    if (seconds < 172800) return `${Math.floor(seconds / 3600)} h`;
    return `${Math.floor(seconds / 86400)} days`;
  }

  // What is read aloud is said apart from what counts seconds, and not more often than one can listen.
  function speak(wait) {
    if (waitingToSpeak !== 0 && wait > 0) return;
    clearTimeout(waitingToSpeak);
    waitingToSpeak = setTimeout(() => {
      waitingToSpeak = 0;
      spokeAt = performance.now();
      set(spoken, `${standing.name}. ${standing.words}`);
    }, Math.max(wait, 0));
  }

  document.addEventListener("selectionchange", () => {
    for (const [key, section] of [...held]) replace(key, section);
  });
  setInterval(() => {
    if (connected && performance.now() - heard > SILENT) {
      lose();
      connect();
    }
    show();
  }, 1000);
  listContents();
  show();
  connect();
})();
