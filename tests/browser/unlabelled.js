// Which fields and buttons have no name that a screen reader could tell?
[...document.querySelectorAll("input:not([type=hidden]), select, textarea, button")]
  .filter((each) => !each.labels?.length && !each.getAttribute("aria-label") && !each.textContent.trim() && !each.title)
  .map((each) => each.outerHTML.slice(0, 120));
