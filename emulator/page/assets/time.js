// The now with which jobs are previewed and run. Functions on emulators accept a now ahead of the clock.

import { h } from "./dom.js";

const day = 24 * 60 * 60;
const choices = [
  [0, "now"], [day, "in a day"], [2 * day, "in 2 days"], [8 * day, "in 8 days"], [31 * day, "in 31 days"],
  [366 * day, "in a year"],
];

let ahead = 0;

export function begin(seconds) {
  ahead = seconds;
  if (!choices.some(([s]) => s === seconds)) choices.push([seconds, `in ${Math.round(seconds / 3600)} hours`]);
}

export const at = () => new Date(Date.now() + ahead * 1000).toISOString();

export function chooser() {
  const select = h("select", {}, choices.map(([s, text]) => h("option", { value: s, selected: s === ahead }, text)));
  select.addEventListener("change", () => {
    ahead = Number(select.value);
    for (const other of document.querySelectorAll(".as-of select")) other.value = select.value;
  });
  return h("label", { class: "as-of" }, "As of", select);
}

export function hint(about) {
  return about.ahead > 0 ? "The files of the sample have only just been uploaded: in two days they are old enough." : "";
}
