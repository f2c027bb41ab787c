// Shared by all parts of the page: elements, icons, menus.
import { icons } from './icons.js';

type Attributes = Record<string, string | boolean | undefined | ((event: Event) => void)>;
type Child = Node | string | undefined | false;

/** Returns the page's element with this id; throws if there is none. */
export function byId<Type extends HTMLElement = HTMLElement>(id: string): Type {
  const element = document.getElementById(id);
  if (!element) throw new Error(`no element #${id}`);

  return element as Type;
}

/** Makes an element. Functions as attributes become event listeners, such as `onclick`. */
export function el<Tag extends keyof HTMLElementTagNameMap>(tag: Tag, attributes: Attributes = {}, ...children: Child[]): HTMLElementTagNameMap[Tag] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, '');
    else if (value !== false && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.filter((child): child is Node | string => child !== undefined && child !== false));

  return element;
}

/** Makes an icon. Screen readers skip it, so the element around it needs a label. */
export function icon(name: keyof typeof icons): SVGSVGElement {
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  svg.setAttribute('viewBox', '0 0 24 24');
  svg.setAttribute('aria-hidden', 'true');
  svg.setAttribute('class', 'icon');
  for (const d of icons[name]) {
    const path = document.createElementNS('http://www.w3.org/2000/svg', 'path');
    path.setAttribute('d', d);
    svg.append(path);
  }

  return svg;
}

/** Returns the initials that stand for a participant without a picture. */
export function initials(name: string): string {
  const words = name.trim().split(/\s+/);
  const letters = words.length > 1 ? [words[0], words[words.length - 1]] : [words[0]];

  return letters.map((word) => [...(word ?? '')][0] ?? '').join('').toUpperCase();
}

/** Returns a hue in degrees, always the same for the same user id. */
export function hue(id: string): number {
  return [...id].reduce((sum, c) => (sum * 31 + (c.codePointAt(0) ?? 0)) % 360, 7);
}

/** An entry of a menu; a heading if it has no `run`. */
export interface Item {
  label: string;
  icon?: keyof typeof icons;
  checked?: boolean;
  danger?: boolean;
  run?: () => void;
}

let close: (() => void) | undefined;

/** Opens a menu at an element, for mouse, touch and keyboard; closes it if it is open. */
export function openMenu(anchor: HTMLElement, items: Item[]): void {
  const again = anchor.getAttribute('aria-expanded') === 'true';
  close?.();
  if (again) return;
  const menu = el('div', { class: 'menu', role: 'menu' });
  for (const item of items) menu.append(item.run ? entry(item) : el('p', { class: 'menu-heading', role: 'presentation' }, item.label));
  // In the anchor's landmark, so that screen reader users who go from landmark to landmark find the menu.
  (anchor.closest('aside, main, footer, header') ?? document.body).append(menu);
  place(menu, anchor);
  anchor.setAttribute('aria-expanded', 'true');
  const outside = (event: Event): void => {
    if (!menu.contains(event.target as Node) && !anchor.contains(event.target as Node)) close?.();
  };
  const hadFocus = document.activeElement;
  close = () => {
    close = undefined;
    document.removeEventListener('pointerdown', outside, true);
    removeEventListener('resize', closeMenu);
    anchor.setAttribute('aria-expanded', 'false');
    const inside = menu.contains(document.activeElement);
    menu.remove();
    if (inside && hadFocus instanceof HTMLElement && hadFocus.isConnected) hadFocus.focus();
  };
  document.addEventListener('pointerdown', outside, true);
  addEventListener('resize', closeMenu);
  menu.addEventListener('keydown', (event) => walk(menu, event));
  menu.querySelector<HTMLElement>('button')?.focus({ focusVisible: false } as FocusOptions);
}

/** Closes the open menu, if there is one. */
export function closeMenu(): void {
  close?.();
}

function entry(item: Item): HTMLElement {
  const role = item.checked === undefined ? 'menuitem' : 'menuitemradio';

  return el(
    'button',
    {
      type: 'button', role, class: item.danger ? 'danger' : undefined, 'aria-checked': item.checked === undefined ? undefined : String(item.checked),
      onclick: () => {
        close?.();
        item.run?.();
      },
    },
    item.checked === undefined ? item.icon && icon(item.icon) : item.checked ? icon('check') : el('span', { class: 'icon' }),
    el('span', {}, item.label),
  );
}

function place(menu: HTMLElement, anchor: HTMLElement): void {
  const at = anchor.getBoundingClientRect();
  const { offsetWidth: width, offsetHeight: height } = menu;
  const edge = 8;
  const left = Math.min(Math.max(edge, at.right - width), innerWidth - width - edge);
  const above = at.top - height - edge;
  const top = at.bottom + height + edge < innerHeight ? at.bottom + 4 : Math.max(edge, above);
  menu.style.left = `${Math.max(edge, left)}px`;
  menu.style.top = `${top}px`;
}

function walk(menu: HTMLElement, event: KeyboardEvent): void {
  const buttons = [...menu.querySelectorAll<HTMLElement>('button')];
  const at = buttons.indexOf(document.activeElement as HTMLElement);
  const go = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: buttons.length - 1 }[event.key];
  event.stopPropagation(); // the room's shortcuts don't work while a menu is open
  if (event.key === 'Escape' || event.key === 'Tab') close?.();
  if (go === undefined) return;
  event.preventDefault();
  buttons[(go + buttons.length) % buttons.length]?.focus();
}
