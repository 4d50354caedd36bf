import type { Page } from 'playwright-core';

export interface TextColours {
  readonly text: string;
  readonly contrast: number;
}

// Runs in the page, for each element with text of its own: its colour, and that of the nearest ground behind it.
const readColours = `[...document.body.querySelectorAll('*')]
  .filter((element) => [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim() !== ''))
  .map((element) => {
    let ground = element;
    while (ground && getComputedStyle(ground).backgroundColor === 'rgba(0, 0, 0, 0)') ground = ground.parentElement;
    return {
      text: element.textContent.trim(),
      colour: getComputedStyle(element).color,
      ground: ground ? getComputedStyle(ground).backgroundColor : 'none',
    };
  })`;

/** The contrast of every text that the page shows, as WCAG defines it: from 1 (invisible) to 21. */
export async function measureContrast(page: Page): Promise<TextColours[]> {
  const found = await page.evaluate<{ text: string; colour: string; ground: string }[]>(readColours);
  return found.map(({ text, colour, ground }) => {
    const [darker = 0, lighter = 0] = [luminanceOf(colour), luminanceOf(ground)].sort((a, b) => a - b);
    return { text, contrast: (lighter + 0.05) / (darker + 0.05) };
  });
}

/** How bright an opaque colour is, from 0 to 1. */
export function luminanceOf(colour: string): number {
  const [, ...channels] = /^rgb\((\d+), (\d+), (\d+)\)$/.exec(colour) ?? [];
  if (channels.length !== 3) throw new Error(`${colour} is not an opaque colour`);
  const [red = 0, green = 0, blue = 0] = channels.map((channel) => {
    const share = Number(channel) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
