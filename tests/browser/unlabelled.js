// Which fields, buttons, links and pictures have no name that a screen reader could tell?
(() => {
  const named = (each) =>
    each.labels?.length || each.getAttribute("aria-label") || each.textContent.trim() || each.title || each.matches("img[alt]") ||
    (each.getAttribute("aria-labelledby") || "").split(" ").some((id) => document.getElementById(id)?.textContent.trim());
  return [...document.querySelectorAll("input:not([type=hidden]), select, textarea, button, a[href], summary, [role=img], img, progress")]
    .filter((each) => !named(each))
    .map((each) => each.outerHTML.slice(0, 120));
})();
