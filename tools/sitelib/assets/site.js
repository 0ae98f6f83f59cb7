// tools/sitelib/assets/site.js: search over names, labels and pages; dark or light; the menu of small screens.
"use strict";
(() => {
  const root = document.documentElement;
  const store = {
    get: () => {
      try {
        return localStorage.getItem("theme");
      } catch {
        return null;
      }
    },
    set: (value) => {
      try {
        localStorage.setItem("theme", value);
      } catch {
        /* pages that are files may have no storage */
      }
    },
  };
  if (store.get()) root.dataset.theme = store.get();

  const LABELS = ["threads", "blocks", "errors", "cost", "lifetime", "source", "protocol"];
  const MAX_RESULTS = 40;

  // A query is words, all of which must be found, and `label:word`, which must be found in that label. `label:` alone asks
  // for names that have the label.
  function parse(query) {
    const wanted = { words: [], labels: [] };
    for (const part of query.toLowerCase().split(/\s+/).filter(Boolean)) {
      const colon = part.indexOf(":");
      const label = part.slice(0, colon);
      if (colon > 0 && part[colon + 1] !== ":" && LABELS.includes(label))
        wanted.labels.push([label, part.slice(colon + 1)]);
      else wanted.words.push(part.replace(/^braid::/, ""));
    }
    return wanted;
  }

  // What an entry says under a label, with the label in front; null where it has none.
  function labelText(labels, label) {
    const begin = labels.indexOf(label + ": ");
    if (begin < 0 || (begin > 0 && labels[begin - 1] !== " ")) return null;
    let end = labels.length;
    for (const other of LABELS) {
      const at = labels.indexOf(" " + other + ": ", begin + 1);
      if (at >= 0 && at < end) end = at;
    }
    return labels.slice(begin, end);
  }

  // How well an entry answers; 0 where it does not.
  function score(entry, wanted) {
    const [title, kind, , text, labels] = entry;
    for (const [label, word] of wanted.labels) {
      const found = labelText(labels, label);
      if (
        found === null ||
        !found
          .slice(label.length + 1)
          .toLowerCase()
          .includes(word)
      )
        return 0;
    }
    const name = title.toLowerCase();
    const isName = kind.includes("/") && kind.includes(" ");
    let sum = wanted.labels.length ? 1 : 0;
    for (const word of wanted.words) {
      let points = 0;
      const last = name.slice(name.lastIndexOf("::") + (name.includes("::") ? 2 : 0));
      if (name === word) points = 100;
      else if (last === word) points = 70;
      else if (name.startsWith(word)) points = 50;
      else if (last.startsWith(word)) points = 40;
      else if (name.split(/[_:.\s]+/).some((part) => part.startsWith(word))) points = 30;
      else if (name.includes(word)) points = 15;
      else if (text.toLowerCase().includes(word)) points = 6;
      else if (labels.toLowerCase().includes(word) || kind.toLowerCase().includes(word)) points = 3;
      if (!points) return 0;
      sum += points;
    }
    if (kind === "question") sum += 60;
    if (isName && !title.includes("::")) sum += 8;
    return sum - title.length / 100;
  }

  function find(index, query) {
    const wanted = parse(query);
    if (!wanted.words.length && !wanted.labels.length) return [];
    return index
      .map((entry) => [score(entry, wanted), entry])
      .filter(([points]) => points > 0)
      .sort((a, b) => b[0] - a[0])
      .slice(0, MAX_RESULTS)
      .map(([, entry]) => entry);
  }
  window.braidSearch = find;

  let loading = null;
  function load() {
    loading ??= new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = root.dataset.root + "assets/search-index.js";
      script.onload = () => resolve(window.braidIndex);
      script.onerror = () => {
        loading = null;
        reject(new Error("the search index cannot be read"));
      };
      document.head.append(script);
    });
    return loading;
  }

  function element(tag, text) {
    const made = document.createElement(tag);
    made.textContent = text;
    return made;
  }

  function shortened(entry, query) {
    const [, , , text, labels] = entry;
    const label = parse(query).labels[0];
    const shown = (label ? (labelText(labels, label[0]) ?? text) : text || labels).replaceAll("`", "");
    const words = parse(query).words;
    const at =
      Math.max(0, ...words.map((word) => shown.toLowerCase().indexOf(word)).filter((found) => found > 60)) - 40;
    return (at > 0 ? "… " : "") + shown.slice(Math.max(0, at), Math.max(0, at) + 150);
  }

  function show(results, found, query) {
    results.replaceChildren(
      ...found.map((entry) => {
        const link = document.createElement("a");
        link.href = root.dataset.root + entry[2];
        link.setAttribute("role", "option");
        link.append(element("i", entry[1]), element("b", entry[0]), element("small", shortened(entry, query)));
        return link;
      }),
    );
    if (!found.length) results.append(element("p", "Nothing found."));
    results.append(element("p", "Labels: threads:any   blocks:   errors:closed   cost:   lifetime:   source:"));
    results.hidden = false;
  }

  function setUpSearch() {
    const input = document.getElementById("site-search");
    const results = document.getElementById("site-results");
    let selected = -1;
    const update = async () => {
      const query = input.value;
      selected = -1;
      if (!query.trim()) {
        results.hidden = true;
        return;
      }
      try {
        const index = await load();
        if (query === input.value) show(results, find(index, query), query);
      } catch (error) {
        results.replaceChildren(element("p", error.message));
        results.hidden = false;
      }
    };
    input.addEventListener("focus", () => {
      load().catch(() => {});
      if (input.value.trim()) update();
    });
    input.addEventListener("input", update);
    input.addEventListener("keydown", (event) => {
      const links = [...results.querySelectorAll("a")];
      if (event.key === "Escape") {
        results.hidden = true;
        input.blur();
        return;
      }
      if (event.key === "Enter" && links.length) {
        location.href = links[Math.max(0, selected)].href;
        results.hidden = true;
        return;
      }
      if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
      event.preventDefault();
      selected = Math.min(links.length - 1, Math.max(0, selected + (event.key === "ArrowDown" ? 1 : -1)));
      links.forEach((link, at) => link.setAttribute("aria-selected", String(at === selected)));
      links[selected]?.scrollIntoView({ block: "nearest" });
    });
    document.addEventListener("keydown", (event) => {
      if (event.key === "/" && !/^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement.tagName)) {
        event.preventDefault();
        input.focus();
      }
    });
    document.addEventListener("click", (event) => {
      if (!event.target.closest(".search")) results.hidden = true;
    });
    const asked = new URLSearchParams(location.search).get("q");
    if (asked) {
      input.value = asked;
      update();
    }
  }

  function setUpFilter() {
    const filter = document.getElementById("filter");
    filter?.addEventListener("input", () => {
      const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
      for (const row of document.querySelectorAll("table.filtered tr")) {
        const text = row.textContent.toLowerCase();
        row.hidden = !words.every((word) => text.includes(word));
      }
    });
  }

  document.addEventListener("DOMContentLoaded", () => {
    document.querySelector("button.theme").addEventListener("click", () => {
      const isDark = root.dataset.theme
        ? root.dataset.theme === "dark"
        : matchMedia("(prefers-color-scheme: dark)").matches;
      root.dataset.theme = isDark ? "light" : "dark";
      store.set(root.dataset.theme);
    });
    const menu = document.querySelector("button.menu");
    menu.addEventListener("click", () =>
      menu.setAttribute("aria-expanded", String(document.body.classList.toggle("menu-open"))),
    );
    const pages = document.querySelector("nav.pages");
    const here = pages.querySelector("a[aria-current]");
    if (here && here.offsetTop > pages.clientHeight) pages.scrollTop = here.offsetTop - pages.clientHeight / 2;
    setUpSearch();
    setUpFilter();
  });
})();
