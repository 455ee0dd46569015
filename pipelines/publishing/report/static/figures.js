// Draws each figure from the description beside it; where it is narrow, names stand above their bars.
"use strict";
const NARROW = 500;

function suit(spec, width) {
  spec.config.axis.labelLimit = Math.round(width * 0.36);
  if (width >= NARROW) return;
  const layers = spec.layer || [spec];
  const colours = layers.flatMap((layer) => layer.encoding.color?.scale?.domain || []);
  spec.config.legend.columns = colours.length > 4 ? 1 : 2;
  spec.config.axisX.tickCount = 5;
  for (const { color, shape } of layers.map((layer) => layer.encoding)) if (shape && shape.field !== color?.field) shape.legend = { orient: "bottom" };
  if (!layers.some((layer) => layer.encoding.y?.field === "name")) return;
  spec.height *= 36 / 22;
  for (const layer of layers) {
    layer.encoding.y.axis = { title: null, labelAlign: "left", labelOffset: -9, labelLimit: width - 20, ticks: false, domain: false };
    layer.mark.yOffset = 8;
    if (layer.mark.type === "bar") layer.mark.size = 13;
  }
}

for (const figure of document.querySelectorAll("figure")) {
  const place = document.createElement("div");
  place.setAttribute("aria-hidden", "true");
  figure.querySelector(".chart").append(place);
  const spec = JSON.parse(figure.querySelector("script").textContent);
  suit(spec, place.clientWidth);
  window.vegaEmbed(place, spec, { renderer: "svg", actions: false, ast: true, logLevel: 1 })
    .catch((error) => { place.textContent = "The chart could not be drawn; its figures stand in the table."; console.error(error); });
}
