"""What the page of a plan does: its filters. Without it everything is shown."""

SCRIPT = """
"use strict";
const form = document.getElementById("filters");
const items = [...document.querySelectorAll("#actions > li")];
const boxes = [...document.querySelectorAll("svg a.box")];
const shown = document.getElementById("shown");
let box = "";

function matches(item, words, wanted, all) {
  const data = item.dataset;
  return (!box || data.box === box)
    && (all || data.operations.split(" ").some((operation) => wanted.has(operation)))
    && (!form.elements.scope.value || data.scope === form.elements.scope.value)
    && words.every((word) => data.text.includes(word));
}

function apply() {
  const words = form.elements.find.value.toLowerCase().split(/\\s+/).filter(Boolean);
  const marks = [...form.querySelectorAll("input[name=operation]")];
  const wanted = new Set(marks.filter((mark) => mark.checked).map((mark) => mark.value));
  const all = wanted.size === marks.length;
  const there = new Set();
  let count = 0;
  for (const item of items) {
    item.hidden = !matches(item, words, wanted, all);
    if (!item.hidden) {
      count += 1;
      there.add(item.dataset.box);
    }
  }
  for (const one of boxes) {
    one.classList.toggle("off", !there.has(one.dataset.box));
  }
  shown.textContent = `${count} of ${items.length} shown`;
}

for (const one of boxes) {
  one.addEventListener("click", () => {
    box = one.dataset.box === box ? "" : one.dataset.box;
    apply();
  });
}
form.addEventListener("submit", (event) => event.preventDefault());
form.addEventListener("input", apply);
form.addEventListener("reset", () => {
  box = "";
  setTimeout(apply);
});
document.getElementById("open").addEventListener("click", () => {
  const details = items.filter((item) => !item.hidden).map((item) => item.querySelector("details"));
  const open = details.some((one) => !one.open);
  for (const one of details) {
    one.open = open;
  }
});
form.hidden = false;
apply();
"""
