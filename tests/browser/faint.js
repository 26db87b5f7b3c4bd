// Which texts are too faint against what is behind them? By the formula of WCAG 2: small text needs 4.5.
(() => {
  const NEEDED = 4.5;
  const WEIGHTS = [0.2126, 0.7152, 0.0722];

  const numbers = (color) => (color.match(/[\d.]+/g) || []).map(Number);
  const linear = (value) => (value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
  const luminance = (color) => WEIGHTS.reduce((sum, weight, at) => sum + weight * linear(color[at] / 255), 0);

  function ground(element) {
    for (let at = element; at; at = at.parentElement) {
      const color = getComputedStyle(at).backgroundColor;
      const parts = numbers(color);
      if (color.startsWith("rgb") && (parts.length === 3 || parts[3] === 1)) return parts;
    }
    return [255, 255, 255];
  }

  // Text of a drawing has a fill instead of a colour, and stands on the box that is drawn before it.
  const inDrawing = (element) => element.tagName === "text";

  function drawnGround(element) {
    const box = [...element.parentElement.children].find((each) => each.matches("rect.node"));
    return box ? numbers(getComputedStyle(box).fill) : ground(element.closest("svg"));
  }

  function contrast(element) {
    const style = getComputedStyle(element);
    const [ink, paper] = inDrawing(element) ? [numbers(style.fill), drawnGround(element)] : [numbers(style.color), ground(element)];
    const [bright, dark] = [luminance(ink), luminance(paper)].sort((a, b) => b - a);
    return (bright + 0.05) / (dark + 0.05);
  }

  const isShown = (element) => (inDrawing(element) ? element.getClientRects().length : element.offsetParent);

  const ownText = (element) => [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());

  return [...document.querySelectorAll("main *, nav *")]
    .filter((each) => isShown(each) && ownText(each) && !each.closest(".disabled, [disabled], option, title, .unseen"))
    .filter((each) => contrast(each) < NEEDED)
    .map((each) => `${each.tagName} ${each.getAttribute("class") || ""}: ${each.textContent.trim().slice(0, 40)} ${contrast(each).toFixed(2)}`)
    .slice(0, 5);
})();
