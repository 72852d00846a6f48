// The live page: the stream brings each newer page whole, and it is put in place of the old one. Nothing is sent.
"use strict";

(() => {
  const root = document.getElementById("live");
  const page = document.getElementById("page");
  const state = document.getElementById("live-state");
  const news = document.getElementById("live-news");
  const spoken = document.getElementById("live-spoken");

  const SILENT = 20000; // milliseconds without a sign of life before the connection counts as lost
  const AGAIN = 2000; // milliseconds before trying again where the browser does not
  const SPEAK = 30000; // milliseconds between two things that are read aloud, while it goes on as before

  let title = document.title;
  let source = null;
  let heard = performance.now();
  let connected = false;
  let over = false;
  let status = JSON.parse(root.dataset.status);
  let toldAt = performance.now();
  let spokeAt = -SPEAK;
  let waitingToSpeak = 0;
  let newest = null; // the page that is not shown yet
  let pressed = false;

  function connect() {
    if (source !== null) source.close();
    source = new EventSource("events");
    source.addEventListener("open", alive);
    source.addEventListener("beat", alive);
    source.addEventListener("page", (event) => {
      alive();
      take(JSON.parse(event.data));
    });
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
    const before = status;
    status = told;
    title = told.title;
    toldAt = performance.now();
    newest = told.body;
    swap();
    show();
    if (before.condition !== status.condition) speak(0);
    else if (before.words !== status.words) speak(spokeAt + SPEAK - performance.now());
  }

  // -- the page: whoever selects text, or presses a button, keeps the old one until that is over

  function swap() {
    if (newest === null || pressed || isSelected()) return;
    const kept = remembered();
    const template = document.createElement("template");
    template.innerHTML = newest;
    newest = null;
    page.replaceChildren(template.content);
    restore(kept);
    show();
  }

  function isSelected() {
    const selection = document.getSelection();
    return selection !== null && !selection.isCollapsed && selection.containsNode(page, true);
  }

  // What is open, scrolled or focused is found again by its section and its place in it.
  function all(what) {
    const found = new Map();
    for (const section of page.querySelectorAll("section, nav")) {
      section.querySelectorAll(what).forEach((element, n) => found.set(`${section.id || "nav"} ${n}`, element));
    }
    return found;
  }

  const FOCUSABLE = "a[href], summary, [tabindex]";

  function remembered() {
    const focused = [...all(FOCUSABLE)].find(([, element]) => element === document.activeElement);
    return {
      at: [scrollX, scrollY],
      focus: focused === undefined ? null : focused[0],
      open: [...all("details")].map(([key, details]) => [key, details.open]),
      scrolled: [...all(".wide")].map(([key, box]) => [key, box.scrollLeft, box.scrollTop]),
    };
  }

  function restore(kept) {
    const [details, boxes] = [all("details"), all(".wide")];
    for (const [key, open] of kept.open) if (details.has(key)) details.get(key).open = open;
    for (const [key, left, top] of kept.scrolled) {
      if (boxes.has(key)) [boxes.get(key).scrollLeft, boxes.get(key).scrollTop] = [left, top];
    }
    if (kept.focus !== null) all(FOCUSABLE).get(kept.focus)?.focus({ preventScroll: true });
    scrollTo(...kept.at);
  }

  // -- the line at the top

  function show() {
    root.dataset.shown = connected ? status.condition : over ? "over" : "lost";
    set(state, connected ? status.name : over ? "no longer followed" : "connection lost, trying again");
    set(news, connected ? ago() : over ? "The command that showed this page has ended." : "");
    const wanted = `${connected ? status.name : over ? "ended" : "connection lost"}: ${title}`;
    if (document.title !== wanted) document.title = wanted;
    const now = status.now + (performance.now() - toldAt) / 1000; // by the clock of the server
    for (const time of document.querySelectorAll("time[data-since]")) {
      set(time, inWords(Math.max(Math.round(now - Date.parse(time.dateTime) / 1000), 0)));
    }
  }

  function set(element, text) {
    if (element.textContent !== text) element.textContent = text;
  }

  function ago() {
    if (status.quiet === null) return status.words;
    const seconds = Math.round(status.quiet + (performance.now() - toldAt) / 1000);
    return `${status.words} Last news ${inWords(seconds)} ago.`.trim();
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
      set(spoken, `${status.name}. ${status.words}`);
    }, Math.max(wait, 0));
  }

  document.addEventListener("selectionchange", swap);
  document.addEventListener("pointerdown", () => (pressed = true));
  for (const end of ["pointerup", "pointercancel"]) {
    document.addEventListener(end, () => {
      pressed = false;
      setTimeout(swap); // after the click
    });
  }
  setInterval(() => {
    if (connected && performance.now() - heard > SILENT) {
      lose();
      connect();
    }
    show();
  }, 1000);
  show();
  connect();
})();
