"use strict";
(() => {
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  const views = new Map();
  const options = {
    renderer: "svg",
    actions: false,
    ast: true, // expressions are interpreted, so that the page needs no eval
    defaultStyle: false,
    tooltip: { disableDefaultStyle: true },
    loader: { target: "_self" },
  };

  const specs = read("specs");
  const drawings = [...document.querySelectorAll("[data-chart]")].map(async (place) => {
    const { view } = await vegaEmbed(place, specs[place.dataset.chart], options);
    views.set(place.dataset.chart, view);
  });
  Promise.all(drawings).then(() => {
    document.documentElement.dataset.drawn = "yes";
    slide();
  });

  const slider = document.getElementById("slider");
  const { headings, picks } = read("picks");
  function slide() {
    if (!slider) return;
    const index = Number(slider.value);
    const pick = picks[index];
    const say = (place, text) => place.textContent === text || (place.textContent = text);
    for (const place of document.querySelectorAll("[data-number]")) say(place, pick.numbers[place.dataset.number]);
    for (const place of document.querySelectorAll("[data-pick]")) {
      const part = place.dataset.pick;
      say(place, part === "which" ? (slider.value === slider.dataset.deployed ? ", deployed" : "") : pick[part]);
    }
    const words = headings.map((heading, k) => `${heading} ${pick.numbers[k]}`).join(", ");
    slider.setAttribute("aria-valuetext", words);
    const view = views.get("choices");
    if (view) view.signal("chosen", index).runAsync();
  }
  if (slider) slider.addEventListener("input", slide);

  // The index of an instance shows its mark in each scatter.
  for (const link of document.querySelectorAll("[data-instance]")) {
    link.addEventListener("click", () => {
      for (const [name, view] of views) {
        if (name.startsWith("rival")) view.signal("picked", Number(link.dataset.instance)).runAsync();
      }
    });
  }

  for (const button of document.querySelectorAll("[data-copy]")) {
    button.addEventListener("click", async () => {
      const source = document.getElementById(button.dataset.copy);
      let said = "Copied";
      try {
        await navigator.clipboard.writeText(source.textContent);
      } catch {
        getSelection().selectAllChildren(source);
        said = "Selected";
      }
      button.textContent = said;
      document.getElementById("copied").textContent = said;
      setTimeout(() => (button.textContent = "Copy"), 1500);
    });
  }

  // On paper nothing can be unfolded.
  const print = matchMedia("print");
  const folded = new Set();
  const unfold = () => {
    for (const part of document.querySelectorAll("details:not([open])")) {
      folded.add(part);
      part.open = true;
    }
  };
  const fold = () => {
    for (const part of folded) part.open = false;
    folded.clear();
  };
  print.addEventListener("change", () => (print.matches ? unfold() : fold()));
  addEventListener("beforeprint", unfold);
  addEventListener("afterprint", fold);
})();
