// What is wrong with the structure that a screen reader goes by: ids, references, landmarks, roles, lists, tables?
(() => {
  const ROLES = ["alert", "group", "img", "search", "status"];
  const STATES = [
    "aria-current", "aria-describedby", "aria-hidden", "aria-invalid", "aria-label", "aria-live", "aria-pressed", "aria-sort",
  ];
  const all = (selector) => [...document.querySelectorAll(selector)];
  const told = (each) => each.outerHTML.slice(0, 100);
  const wrong = [];
  const check = (what, found) => wrong.push(...found.map((each) => `${what}: ${typeof each === "string" ? each : told(each)}`));

  const ids = all("[id]").map((each) => each.id);
  check("an id twice", ids.filter((id, at) => ids.indexOf(id) !== at));
  check("an id with spaces", ids.filter((id) => !id || /\s/.test(id)));
  for (const name of ["aria-describedby", "aria-labelledby", "aria-controls", "for", "list"])
    check(`${name} of nothing`, all(`[${name}]`).filter((each) => each.getAttribute(name).trim().split(/\s+/).some((id) => !document.getElementById(id))));

  check("no language", document.documentElement.lang ? [] : ["html"]);
  check("no title", document.title.trim() ? [] : ["title"]);
  for (const [landmark, most] of [["main", 1], ["body > header", 1], ["footer", 1]])
    check(`landmark ${landmark}`, all(landmark).length === most ? [] : [`${all(landmark).length} of them`]);
  const navs = all("nav").map((each) => each.getAttribute("aria-label") || "");
  check("nav without a name of its own", navs.filter((name, at) => !name || navs.indexOf(name) !== at));
  check("text outside of every landmark", [...document.body.children].filter((each) =>
    each.textContent.trim() && !each.matches("main, header, footer, nav, .skip, script, dialog") && !each.querySelector("main")));

  check("an unknown role", all("[role]").filter((each) => !ROLES.includes(each.getAttribute("role"))));
  check("an unknown aria attribute", all("*").filter((each) =>
    each.getAttributeNames().some((name) => name.startsWith("aria-") && !STATES.includes(name))));
  check("hidden but reached by the keyboard", all("[aria-hidden=true] a[href], [aria-hidden=true] button, [aria-hidden=true] input"));
  check("an order of its own for the keyboard", all("[tabindex]").filter((each) => Number(each.getAttribute("tabindex")) > 0));
  check("a button in a link, or a link in a button", all("a button, button a, a a, button button"));

  check("not an item of a list", all("ul > :not(li), ol > :not(li)").filter((each) => !each.matches("script, template")));
  check("an item without a list", all("li").filter((each) => !each.parentElement.matches("ul, ol")));
  check("not a part of facts", all("dl > :not(div, dt, dd)"));
  check("a head of a table that says not of what", all("th:not([scope])").filter((each) => each.textContent.trim()));
  check("a table without heads", all("table:not(:has(th))"));
  check("a group without a name", all("[role=group]").filter((each) => !each.getAttribute("aria-label")));
  check("details without a summary first", all("details").filter((each) => !each.firstElementChild?.matches("summary")));
  return wrong.slice(0, 8);
})();
