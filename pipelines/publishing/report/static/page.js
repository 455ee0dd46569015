// What every page does: the theme that was chosen, the menu on narrow screens, tables opened for print.
"use strict";
(() => {
  const root = document.documentElement;
  const stored = () => { try { return localStorage.getItem("rackrecon-theme"); } catch { return null; } };
  const store = (theme) => { try { localStorage.setItem("rackrecon-theme", theme); } catch { /* a choice for this page */ } };
  if (stored()) root.dataset.theme = stored();
  const isDark = () => (root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";

  document.addEventListener("DOMContentLoaded", () => {
    const theme = document.getElementById("theme");
    const name = () => { theme.textContent = isDark() ? "Light theme" : "Dark theme"; };
    theme.addEventListener("click", () => { root.dataset.theme = isDark() ? "light" : "dark"; store(root.dataset.theme); name(); });
    name();
    const menu = document.getElementById("menu"), pages = document.getElementById("pages");
    menu.addEventListener("click", () => menu.setAttribute("aria-expanded", String(pages.classList.toggle("open"))));
  });
  // Who follows a link to a part of a page wants to see it, folded or not.
  const unfold = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (target?.matches("section")) target.querySelectorAll("details").forEach((fold) => { fold.open = true; });
  };
  addEventListener("hashchange", unfold);
  document.addEventListener("DOMContentLoaded", unfold);
  addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((part) => { part.open = true; }));
})();
