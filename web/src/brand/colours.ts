// The tenant's colours, made readable. Contrast is that of WCAG 2.2: https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio

type Rgb = readonly [number, number, number]; // 0 to 255

const enough = 4.5; // for text, level AA
const white: Rgb = [255, 255, 255];
// --soft of shopping.css in both schemes: a text that is readable on it is readable on --card and on the video's dark cards too.
const light: Rgb = [240, 240, 244];
const dark: Rgb = [34, 34, 43];
const black: Rgb = [0, 0, 0];

/** parse reads #rrggbb; undefined for any other text. */
export function parse(text: string | null): Rgb | undefined {
  const match = /^#([\da-f]{2})([\da-f]{2})([\da-f]{2})$/i.exec(text ?? '');

  return match ? [parseInt(match[1]!, 16), parseInt(match[2]!, 16), parseInt(match[3]!, 16)] : undefined;
}

/** contrast returns the contrast ratio of two colours, 1 to 21. */
export function contrast(a: Rgb, b: Rgb): number {
  const [high, low] = [luminance(a), luminance(b)].sort((x, y) => y - x) as [number, number];

  return (high + 0.05) / (low + 0.05);
}

function luminance(colour: Rgb): number {
  const [r, g, b] = colour.map((value) => {
    const part = value / 255;

    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];

  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

/** onto returns black or white: the one that is readable on the colour. One of them always has a contrast above 4.5. */
export function onto(colour: Rgb): Rgb {
  return contrast(colour, white) >= enough ? white : black;
}

/** readable mixes a colour with white or black until it is readable as a text on the background. */
export function readable(colour: Rgb, background: Rgb): Rgb {
  const toward = luminance(background) > 0.18 ? black : white;
  for (let share = 0; share < 1; share += 0.05) {
    const mixed = colour.map((value, i) => Math.round(value + (toward[i]! - value) * share)) as unknown as Rgb;
    if (contrast(mixed, background) >= enough) return mixed;
  }

  return toward;
}

/** Sets the page's colours. Without a colour the page's own stays. */
export function paint(brand: { primaryColor: string | null; accentColor: string | null }): void {
  const primary = parse(brand.primaryColor);
  const accent = parse(brand.accentColor);
  if (primary) {
    set('--primary', primary);
    set('--on-primary', onto(primary));
    set('--primary-on-light', readable(primary, light));
    set('--primary-on-dark', readable(primary, dark));
  }
  if (accent) {
    set('--accent-on-light', readable(accent, light));
    set('--accent-on-dark', readable(accent, dark));
  }
}

function set(name: string, [r, g, b]: Rgb): void {
  document.documentElement.style.setProperty(name, `rgb(${r} ${g} ${b})`);
}
