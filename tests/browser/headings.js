// Which headings are out of order: none or several of the first level, or a level left out?
(() => {
  const levels = [...document.querySelectorAll("main h1, main h2, main h3, main h4")].map((each) => [Number(each.tagName[1]), each.textContent.trim().slice(0, 40)]);
  const firsts = levels.filter(([level]) => level === 1).length;
  const wrong = firsts === 1 ? [] : [`${firsts} headings of the first level`];
  levels.forEach(([level, text], at) => { if (at && level > levels[at - 1][0] + 1) wrong.push(`h${level} ${text}`); });
  return wrong;
})();
