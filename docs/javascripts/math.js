// Formulas are drawn by KaTeX 0.19.1 (https://katex.org, MIT), which lies beside this file: no network is needed.
// It is loaded only on pages that have a formula.
const here = document.currentScript.src.replace(/[^/]*$/, "katex/");
document.addEventListener("DOMContentLoaded", () => {
  const formulas = document.querySelectorAll(".arithmatex");
  if (!formulas.length) return;
  const style = Object.assign(document.createElement("link"), { rel: "stylesheet", href: here + "katex.min.css" });
  const script = Object.assign(document.createElement("script"), { src: here + "katex.min.js" });
  script.onload = () =>
    formulas.forEach((each) => {
      const displayMode = each.tagName === "DIV";
      katex.render(each.textContent.trim().slice(2, -2), each, { displayMode, throwOnError: false });
    });
  document.head.append(style, script);
});
