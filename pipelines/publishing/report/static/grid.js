// A table that filters, sorts, searches and pages. Its state is in the address after #, so that a view can be linked.
"use strict";
(() => {
  const grid = window.rackreconGrid;
  const PAGE_ROWS = 100;
  const SHORT = 16, LONG = 60; // characters of a name that does not break, and of a sentence
  const place = document.getElementById("grid");
  const columns = new Map(grid.columns.map((column, at) => [column.name, { ...column, at }]));
  const shown = grid.order.map((name) => columns.get(name));
  const key = columns.get(grid.key);
  const slugs = grid.columns.flatMap((column, at) => column.slug ? [at] : []);
  const words = (slug) => slug.replaceAll("_", " ").replaceAll(".", ": ");
  const texts = grid.rows.map((row) => {
    const said = slugs.flatMap((at) => typeof row[at] === "string" ? [words(row[at])] : []);
    return [...row.filter((value) => typeof value === "string"), ...said].join("\n").toLowerCase();
  });
  const YES_NO = { true: "yes", false: "no" };
  const RESERVED = new Set(["q", "sort", "desc", "page", "row"]);
  let state = {};

  const element = (name, attributes = {}, ...children) => {
    const made = document.createElement(name);
    for (const [attribute, value] of Object.entries(attributes)) if (value !== null && value !== undefined) made.setAttribute(attribute, value);
    made.append(...children);
    return made;
  };

  const text = (column, value) => {
    if (value === null) return "–";
    if (typeof value === "boolean") return YES_NO[value];
    if (typeof value === "number") {
      const decimals = Math.abs(value) >= 1e6 ? 0 : column.decimals;
      return value.toLocaleString("en", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
    }
    return column.slug ? words(value) : value;
  };
  // The text of a cell: a sign before a verdict, and places where a long name may break.
  const told = (column, value) => {
    const content = [], sign = column.signed && grid.signs[value];
    if (sign) content.push(element("span", { class: `sign ${sign[1]}`, "aria-hidden": "true" }, sign[0]));
    const said = text(column, value), pieces = said.length > SHORT ? said.split(/(?<=[_/+])(?=\w)/) : [said];
    pieces.forEach((piece, at) => content.push(...(at ? [element("wbr"), piece] : [piece])));
    return content;
  };

  // --- state and address

  const read = () => {
    const address = new URLSearchParams(location.hash.slice(1));
    state = Object.fromEntries([...address].filter(([name]) => RESERVED.has(name) || columns.has(name)));
  };
  const address = (changed) => {
    const next = new URLSearchParams();
    for (const [name, value] of Object.entries({ ...state, ...changed })) if (value) next.set(name, value);
    return "#" + next.toString().replaceAll("%2F", "/").replaceAll("%2B", "%2B");
  };
  const go = (changed) => location.replace(address(changed));

  // --- rows

  const wanted = () => {
    const needles = (state.q || "").toLowerCase().split(/\s+/).filter(Boolean);
    const filters = Object.entries(state).filter(([name]) => !RESERVED.has(name)).map(([name, value]) => [columns.get(name).at, value]);
    const found = [];
    grid.rows.forEach((row, at) => {
      if (filters.every(([column, value]) => String(row[column] ?? "–") === value) && needles.every((needle) => texts[at].includes(needle))) found.push(row);
    });
    const by = columns.get(state.sort || grid.sort);
    if (by) {
      const sign = (state.sort ? state.desc === "1" : grid.descending) ? -1 : 1;
      const collator = new Intl.Collator("en", { numeric: true });
      found.sort((a, b) => {
        const x = a[by.at], y = b[by.at];
        if (x === null || y === null) return (x === null) - (y === null);
        return sign * (typeof x === "number" && typeof y === "number" ? x - y : collator.compare(String(x), String(y)));
      });
    }
    return found;
  };

  // --- comma-separated values of what is shown

  const cell = (value) => {
    if (value === null) return "";
    if (typeof value !== "string") return String(value);
    const harmless = /^\s*[=+\-@\t\r＝＋－＠]/.test(value) ? "'" + value : value;
    return /[",\r\n]/.test(harmless) ? '"' + harmless.replaceAll('"', '""') + '"' : harmless;
  };
  const csv = () => {
    const taken = shown.includes(key) ? shown : [key, ...shown];
    const lines = [taken.map((column) => column.name), ...wanted().map((row) => taken.map((column) => row[column.at]))];
    return lines.map((line) => line.map(cell).join(",")).join("\r\n") + "\r\n";
  };
  const download = () => {
    const link = element("a", { href: URL.createObjectURL(new Blob([csv()], { type: "text/csv" })), download: `rackrecon-${grid.name}.csv` });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  };

  // --- what is drawn once

  const search = element("input", { type: "search", id: "search", autocomplete: "off" });
  let typing;
  search.addEventListener("input", () => { clearTimeout(typing); typing = setTimeout(() => go({ q: search.value, page: "" }), 150); });
  const filters = element("div", { class: "filters", role: "search" });
  const field = (label, control) => filters.append(element("div", { class: "field" }, element("label", { for: control.id }, label), control));
  field("Search in all columns", search);
  const selects = grid.filters.map((name) => {
    const column = columns.get(name), counts = new Map();
    for (const row of grid.rows) { const value = String(row[column.at] ?? "–"); counts.set(value, (counts.get(value) || 0) + 1); }
    const select = element("select", { id: `filter-${name}`, "data-filter": name }, new Option("all", ""));
    for (const value of [...counts.keys()].sort(new Intl.Collator("en", { numeric: true }).compare)) select.append(new Option(`${YES_NO[value] ?? (column.slug ? words(value) : value)} (${counts.get(value).toLocaleString("en")})`, value));
    select.addEventListener("change", () => go({ [name]: select.value, page: "" }));
    field(column.label, select);
    return select;
  });

  const count = element("p", { role: "status", id: "count" });
  const button = (label, action) => { const made = element("button", { type: "button" }, label); made.addEventListener("click", action); return made; };
  const clear = button("Clear filters", () => { location.replace("#"); search.focus(); });
  const previous = button("Previous", () => go({ page: String(page() - 1) }));
  const next = button("Next", () => go({ page: String(page() + 1) }));
  const status = element("div", { class: "status" }, count, element("div", { class: "actions" }, previous, next, clear, button("CSV of what is shown", download)));

  const heads = shown.map((column) => {
    const sort = button(column.label, () => {
      const active = (state.sort || grid.sort) === column.name, descending = state.sort ? state.desc === "1" : grid.descending;
      go({ sort: column.name, desc: active && !descending ? "1" : "", page: "" });
    });
    const head = element("th", { scope: "col", role: "columnheader", class: column.number ? "number" : null, title: column.help || null }, sort);
    if (column.unit) head.append(" ", element("span", { class: "unit" }, column.unit));
    return head;
  });
  const body = element("tbody", { role: "rowgroup" });
  const detail = element("div", { id: "row", tabindex: "-1", role: "region", "aria-label": "One row with all of its columns", hidden: "" });
  const head = element("thead", { role: "rowgroup" }, element("tr", { role: "row" }, ...heads));
  const table = element("table", { role: "table", class: "stacked" }, element("caption", {}, grid.caption), head, body);
  const named = (column) => column.term ? element("a", { class: "term", href: `glossary.html#${column.term}` }, column.label) : column.label;
  const meanings = element("dl");
  for (const column of shown.filter((one) => one.help)) meanings.append(element("dt", {}, named(column), column.unit ? `, ${column.unit}` : ""), element("dd", {}, `${column.help}.`));
  const legend = element("details", {}, element("summary", {}, "What the columns mean"), meanings);
  place.append(filters, status, detail, legend, element("div", { class: "scroll", role: "region", tabindex: "0", "aria-label": grid.caption }, table));

  // --- what is drawn anew

  const page = () => Math.max(1, Number.parseInt(state.page || "1", 10) || 1);

  const kindOf = (column, content) => {
    if (column.number) return "number";
    if (content.length > LONG) return "long";
    return content.length <= SHORT ? "short" : null;
  };
  const line = (row) => element("tr", { role: "row" }, ...shown.map((column, place) => {
    const value = row[column.at], label = column.unit ? `${column.label}, ${column.unit}` : column.label;
    const made = element("td", { role: "cell", class: kindOf(column, text(column, value)), "data-label": label });
    if (column === key || (place === 0 && !shown.includes(key))) made.append(element("a", { href: address({ row: String(row[key.at]) }) }, ...told(column, value)));
    else made.append(...told(column, value));
    return made;
  }));

  const open = (row) => {
    detail.hidden = !state.row;
    detail.replaceChildren();
    if (!state.row) return;
    detail.append(element("h2", {}, state.row));
    if (!row) { detail.append(element("p", {}, "There is no such row in this report.")); } else {
      const list = element("dl");
      for (const column of columns.values()) {
        if (row[column.at] === null || (column === key && !column.help)) continue; // a key made of others is the heading
        list.append(element("dt", { title: column.help || null }, named(column)), element("dd", {}, ...told(column, row[column.at]), column.unit ? ` ${column.unit}` : ""));
      }
      detail.append(list);
      if (grid.command) detail.append(element("p", {}, "The chain behind it, down to the published files: ", element("code", {}, `${grid.command} '${state.row.replaceAll("'", "'\\''")}'`)));
    }
    detail.append(button("Close", () => { go({ row: "" }); search.focus(); }));
  };

  const draw = () => {
    const before = state.row;
    read();
    const found = wanted(), pages = Math.max(1, Math.ceil(found.length / PAGE_ROWS));
    if (page() > pages) state.page = String(pages);
    const first = (page() - 1) * PAGE_ROWS;
    if (search.value !== (state.q || "") && document.activeElement !== search) search.value = state.q || "";
    for (const select of selects) select.value = state[select.dataset.filter] || "";
    shown.forEach((column, at) => {
      const active = (state.sort || grid.sort) === column.name, descending = state.sort ? state.desc === "1" : grid.descending;
      if (active) heads[at].setAttribute("aria-sort", descending ? "descending" : "ascending"); else heads[at].removeAttribute("aria-sort");
    });
    body.replaceChildren(...found.slice(first, first + PAGE_ROWS).map(line));
    const range = found.length ? `, ${(first + 1).toLocaleString("en")} to ${Math.min(first + PAGE_ROWS, found.length).toLocaleString("en")} here` : "";
    count.textContent = `${found.length.toLocaleString("en")} of ${grid.rows.length.toLocaleString("en")} rows${range}`;
    if (!found.length) body.append(element("tr", { role: "row" }, element("td", { role: "cell", colspan: String(shown.length) }, "Nothing matches; clear the filters to see all rows.")));
    previous.disabled = page() <= 1;
    next.disabled = page() >= pages;
    open(state.row ? grid.rows.find((row) => String(row[key.at]) === state.row) : null);
    if (state.row && state.row !== before) detail.focus();
  };
  addEventListener("hashchange", draw);
  draw();
})();
