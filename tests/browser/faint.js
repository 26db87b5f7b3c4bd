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

  function contrast(element) {
    const [bright, dark] = [luminance(numbers(getComputedStyle(element).color)), luminance(ground(element))].sort((a, b) => b - a);
    return (bright + 0.05) / (dark + 0.05);
  }

  const ownText = (element) => [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());

  return [...document.querySelectorAll("main *, nav *")]
    .filter((each) => each.offsetParent && ownText(each) && !each.closest(".disabled, [disabled], option, svg, .unseen"))
    .filter((each) => contrast(each) < NEEDED)
    .map((each) => `${each.tagName} ${each.className}: ${each.textContent.trim().slice(0, 40)} ${contrast(each).toFixed(2)}`)
    .slice(0, 5);
})();
