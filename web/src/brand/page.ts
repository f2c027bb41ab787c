// The tenant's brand on pages that buyers and guests see. The server writes it into the page as <meta name="brand">, with the fields
// of the API's Brand, so that it is there before the first picture.
import type { Brand } from '../gen/api.js';
import { paint } from './colours.js';

/** Returns the brand in the page's head; undefined for an unknown stream, session or recording. */
export function readBrand(): Brand | undefined {
  const text = document.querySelector<HTMLMetaElement>('meta[name=brand]')?.content;

  return text ? (JSON.parse(text) as Brand) : undefined;
}

/** Sets the colours and the tab's icon, and puts logo and name into the elements with the class "brand". */
export function showBrand(brand: Brand | undefined): void {
  if (!brand) return;
  paint(brand);
  if (brand.logoUrl) document.querySelector<HTMLLinkElement>('link[rel=icon]')?.setAttribute('href', brand.logoUrl);
  for (const place of document.querySelectorAll<HTMLElement>('.brand')) {
    const name = document.createElement('bdi');
    name.className = 'brand-name';
    name.textContent = brand.name;
    place.replaceChildren(mark(brand), name);
    place.hidden = false;
  }
}

/** Returns the title of the page with the tenant's name. */
export function titled(title: string, brand: Brand | undefined): string {
  return brand ? `${title} · ${brand.name}` : title;
}

// mark returns the logo, or the first letter of the name if there is none or it can't be loaded.
function mark({ name, logoUrl }: Brand): HTMLElement {
  const letter = document.createElement('span');
  letter.className = 'logo letter';
  letter.ariaHidden = 'true';
  letter.textContent = [...name][0]?.toUpperCase() ?? '';
  if (!logoUrl) return letter;
  const logo = document.createElement('img');
  logo.className = 'logo';
  logo.alt = ''; // the name stands beside it
  logo.addEventListener('error', () => logo.replaceWith(letter));
  logo.src = logoUrl;

  return logo;
}
