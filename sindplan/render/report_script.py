"""What the page of a plan does: it filters, and leads from the graph to the list. Without it everything is shown."""

SCRIPT = r"""
"use strict";
const form = document.getElementById("filters");
const shown = document.getElementById("shown");
const openAll = document.getElementById("open");
const fit = document.getElementById("fit");
const graph = document.getElementById("graph");
const items = [...document.querySelectorAll("#actions > li")].map((item) => ({
  item,
  details: item.querySelector("details"),
  text: item.textContent.toLowerCase(),
  operations: item.dataset.operations.split(" "),
}));
const boxes = [...document.querySelectorAll("svg a.box")];
const arrows = [...document.querySelectorAll("svg path.arrow")];

// "worker-7" is found in "worker-[0-99]", and so is, while one types, "worker-1" in "worker-[10-12]".
function holds(ranges, digits, whole) {
  return ranges.split(",").some((range) => {
    const [first, last = first] = range.split("-").map(Number);
    let low = Number(digits);
    let high = low;
    if (String(low) !== digits) {
      return false;
    }
    while (low <= last) {
      if (high >= first) {
        return true;
      }
      if (whole || low === 0) {
        return false;
      }
      low *= 10;
      high = high * 10 + 9;
    }
    return false;
  });
}

function has(text, word) {
  if (text.includes(word)) {
    return true;
  }
  const parts = /^(.*?worker-)(\d{1,9})(.*)$/.exec(word);
  if (!parts) {
    return false;
  }
  const [, before, digits, after] = parts;
  return [...text.matchAll(/worker-\[([\d,-]+)\]/g)].some((set) =>
    text.slice(0, set.index + "worker-".length).endsWith(before)
    && text.startsWith(after, set.index + set[0].length)
    && holds(set[1], digits, after !== ""));
}

function apply() {
  const words = form.elements.find.value.toLowerCase().split(/\s+/).filter(Boolean);
  const marks = [...form.querySelectorAll("input[name=operation]")];
  const wanted = new Set(marks.filter((mark) => mark.checked).map((mark) => mark.value));
  const scope = form.elements.scope ? form.elements.scope.value : "";
  const there = new Set();
  for (const { item, text, operations } of items) {
    item.hidden = !((wanted.size === marks.length || operations.some((operation) => wanted.has(operation)))
      && (!scope || item.dataset.scope === scope)
      && words.every((word) => has(text, word)));
    if (!item.hidden) {
      there.add(item.dataset.box);
    }
  }
  for (const box of boxes) {
    box.classList.toggle("off", !there.has(box.dataset.box));
  }
  seek(boxes.find((box) => there.size < items.length && there.has(box.dataset.box)));
  shown.textContent = `${there.size} of ${items.length} shown`;
  label();
}

// Only the graph is scrolled: the reader is somewhere else.
function seek(box) {
  if (box) {
    const own = box.getBoundingClientRect();
    const frame = graph.getBoundingClientRect();
    if (own.top < frame.top || own.bottom > frame.bottom || own.left < frame.left || own.right > frame.right) {
      graph.scrollBy(own.left - frame.left - 40, own.top - frame.top - 40);
    }
  }
}

function visible() {
  return items.filter(({ item }) => !item.hidden).map(({ details }) => details);
}

function label() {
  openAll.textContent = visible().some((one) => !one.open) ? "Open all" : "Close all";
}

// What a link leads to is shown, whatever the filters say.
function follow() {
  const found = items.find(({ item }) => `#${item.id}` === location.hash);
  if (found) {
    found.details.open = true;
    if (found.item.hidden) {
      form.reset();
      apply();
    }
    found.item.scrollIntoView();
  }
}

function near(box) {
  const ids = new Set();
  for (const arrow of arrows) {
    const { from, to } = arrow.dataset;
    arrow.classList.toggle("near", Boolean(box) && (from === box || to === box));
    if (to === box) {
      ids.add(from);
    } else if (from === box && to) {
      ids.add(to);
    }
  }
  for (const one of boxes) {
    one.classList.toggle("near", Boolean(box) && ids.has(one.dataset.box));
  }
}

// The boxes are one stop for the tabulator: arrow keys lead along the arrows, and up and down.
function step(box, key) {
  const ends = { ArrowLeft: ["to", "from"], ArrowRight: ["from", "to"] }[key];
  if (ends) {
    const [here, there] = ends;
    const found = arrows.find(({ dataset }) => dataset.to && dataset[here] === box.dataset.box);
    return found && boxes.find((one) => one.dataset.box === found.dataset[there]);
  }
  const sign = key === "ArrowUp" ? -1 : 1;
  const place = (one) => one.querySelector("rect");
  const [x, y] = [place(box).x.baseVal.value, place(box).y.baseVal.value];
  const away = (one) => sign * (place(one).y.baseVal.value - y);
  return boxes
    .filter((one) => place(one).x.baseVal.value === x && away(one) > 0)
    .sort((one, other) => away(one) - away(other))[0];
}

function move(event) {
  if (["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"].includes(event.key)) {
    event.preventDefault();
    const next = step(event.currentTarget, event.key);
    if (next) {
      next.focus();
    }
  }
}

function reach(box) {
  for (const one of boxes) {
    one.setAttribute("tabindex", one === box ? "0" : "-1");
  }
}

for (const box of boxes) {
  box.addEventListener("keydown", move);
  box.addEventListener("focus", () => reach(box));
  for (const event of ["mouseenter", "focus"]) {
    box.addEventListener(event, () => near(box.dataset.box));
  }
  for (const event of ["mouseleave", "blur"]) {
    box.addEventListener(event, () => near(""));
  }
  // A second click on the same box changes no address.
  box.addEventListener("click", () => setTimeout(follow));
}
for (const { details } of items) {
  details.addEventListener("toggle", label);
}
addEventListener("hashchange", follow);
form.addEventListener("submit", (event) => event.preventDefault());
form.addEventListener("input", apply);
form.addEventListener("reset", () => setTimeout(apply));
openAll.addEventListener("click", () => {
  const details = visible();
  const open = details.some((one) => !one.open);
  for (const one of details) {
    one.open = open;
  }
});
if (fit) {
  fit.addEventListener("click", () => {
    fit.setAttribute("aria-pressed", String(graph.classList.toggle("fit")));
  });
  fit.hidden = false;
}
form.hidden = false;
reach(boxes[0]);
apply();
follow();
"""
