// Sorting, filters where there are many rows, and a switch to ratios. The page is whole without them.
"use strict";
addEventListener("DOMContentLoaded", () => {
  const all = selector => [...document.querySelectorAll(selector)];
  const make = (name, text, attributes = {}) => {
    const element = document.createElement(name);
    element.textContent = text;
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    return element;
  };

  for (const table of all("table.sortable")) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const button = make("button", "↕", { type: "button", "aria-label": `sort by ${head.textContent}` });
      head.append(" ", button);
      button.onclick = () => {
        const down = head.getAttribute("aria-sort") !== "descending";
        heads.forEach(other => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const body = table.tBodies[0];
        const key = row => {
          const cell = row.cells[column];
          if (cell.tagName === "TH") return cell.textContent;
          const value = cell.dataset.value ?? cell.textContent.replace("=", "");
          return value === "" || isNaN(value) ? null : Number(value);
        };
        const compare = (a, b) => typeof a === "string" ? a.localeCompare(b) : a - b;
        // Rows without a value come last, whichever way.
        [...body.rows].map(row => [key(row), row]).sort(([a], [b]) =>
          a === null || b === null ? (a === null) - (b === null) : down ? compare(b, a) : compare(a, b)
        ).forEach(([, row]) => body.append(row));
      };
    });
  }

  // A click on a figure puts its own address into the URL, to be passed on.
  for (const value of all("[id] .value")) {
    value.onclick = () => history.replaceState(null, "", `#${value.closest("[id]").id}`);
  }

  // Where the style alone can't open them on paper.
  addEventListener("beforeprint", () => all("details").forEach(details => { details.open = true; }));

  const rows = all("[data-contender]");
  const rates = all("td[data-rate]");
  // Few rows are seen at once, and need no filters.
  const tiers = JSON.parse(document.querySelector("main").dataset.tiers);
  const has_filters = Object.keys(tiers).length > 6;
  if (!has_filters && rates.length === 0) return;
  const controls = make("form", "", { class: "controls", "aria-label": "what is shown" });

  const filter = () => {
    const choice = (label, options) => {
      const select = make("select", "");
      ["all", ...options].forEach(option => select.append(make("option", option)));
      const box = make("label", label + " ");
      box.append(select);
      controls.append(box);
      return select;
    };
    const contender = choice("contender", Object.keys(tiers));
    const tier = choice("tier", [...new Set(Object.values(tiers))].filter(Boolean).sort());
    const verdict = choice("verdict", ["valid", "not checked", "suspect", "invalid"]);
    const fits = (select, values) => select.value === "all" || values.includes(select.value);
    controls.addEventListener("change", () => rows.forEach(row => {
      const name = row.dataset.contender;
      const shown = fits(contender, [name]) && fits(tier, [tiers[name]]) && fits(verdict, row.dataset.verdicts.split(","));
      // Not by the property: lines of charts don't have it.
      row.toggleAttribute("hidden", !shown);
    }));
  };

  const show_ratios = () => {
    const ratios = make("input", "", { type: "checkbox" });
    const box = make("label", "");
    box.append(ratios, " rates as shares of the best");
    controls.append(box);
    const cells = rates.map(cell => ({ cell, was: [...cell.childNodes] }));
    const isStruck = cell => cell.querySelector("s") !== null;
    const isBound = cell => "bound" in cell.dataset;
    const best = {};
    for (const { cell } of cells.filter(({ cell }) => !isStruck(cell))) {
      const known = best[cell.dataset.load];
      if (!known || Number(cell.dataset.value) > Number(known.dataset.value)) best[cell.dataset.load] = cell;
    }
    const share = cell => {
      const first = best[cell.dataset.load];
      // Of two lower bounds nobody knows the ratio.
      if (!first || isStruck(cell) || cell !== first && isBound(cell) && isBound(first)) return null;
      const share = cell.dataset.value / first.dataset.value;
      const mark = cell === first ? "" : isBound(cell) ? "≥" : isBound(first) ? "≤" : "";
      return isFinite(share) ? `${mark}${(share * 100).toFixed(0)} %` : null;
    };
    controls.addEventListener("change", () => cells.forEach(({ cell, was }) => {
      const text = ratios.checked ? share(cell) : null;
      // What is said of the rate holds for its share.
      const signs = was.filter(it => it.nodeName === "SPAN").flatMap(sign => [" ", sign]);
      cell.replaceChildren(...(text ? [text, ...signs] : was));
    }));
  };

  if (has_filters) filter();
  if (rates.length > 0) show_ratios();
  controls.onsubmit = event => event.preventDefault();
  controls.reset();
  document.querySelector("main").prepend(controls);
});
