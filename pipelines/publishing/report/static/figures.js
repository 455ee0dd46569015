// Draws each figure from the description beside it.
"use strict";
for (const figure of document.querySelectorAll("figure")) {
  const place = document.createElement("div");
  place.setAttribute("aria-hidden", "true");
  figure.querySelector(".chart").append(place);
  const spec = JSON.parse(figure.querySelector("script").textContent);
  spec.config.axis.labelLimit = Math.round(place.clientWidth * 0.36);
  if (place.clientWidth < 500) spec.config.legend.columns = 1;
  window.vegaEmbed(place, spec, { renderer: "svg", actions: false, ast: true, logLevel: 1 })
    .catch((error) => { place.textContent = "The chart could not be drawn; its figures stand in the table."; console.error(error); });
}
