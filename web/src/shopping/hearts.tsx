import type { VNode } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

import type { LiveShow } from '../shop/index.js';

const most = 14; // hearts at a time, so that those of many viewers don't hide the picture
const path = 'M12 20.5S3.5 15.4 3.5 9.2A4.7 4.7 0 0 1 12 6.4a4.7 4.7 0 0 1 8.5 2.8c0 6.2-8.5 11.3-8.5 11.3Z';

/** Hearts that rise over the video. They don't move for viewers who prefer that: then none are shown. */
export function Hearts({ show, own }: { show: LiveShow; own: { pending: number } }): VNode {
  const field = useRef<HTMLDivElement>(null);
  useEffect(() => show.on('hearts', (count) => {
    const mine = Math.min(own.pending, count); // shown at the click already
    own.pending -= mine;
    rise(field.current, count - mine);
  }), [show]);

  return <div ref={field} class="hearts" id="hearts" aria-hidden="true" />;
}

/** Shows hearts in a field. */
export function rise(field: HTMLElement | null, count: number): void {
  if (!field || matchMedia('(prefers-reduced-motion: reduce)').matches || document.visibilityState === 'hidden') return;
  for (let i = 0; i < Math.min(count, most - field.childElementCount); i++) {
    const heart = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
    const shape = document.createElementNS('http://www.w3.org/2000/svg', 'path');
    heart.setAttribute('viewBox', '0 0 24 24');
    shape.setAttribute('d', path);
    heart.append(shape);
    heart.style.setProperty('--x', `${Math.round(Math.random() * 56)}px`);
    heart.style.setProperty('--size', `${22 + Math.round(Math.random() * 14)}px`);
    heart.style.setProperty('--turn', `${Math.round(Math.random() * 40 - 20)}deg`);
    heart.style.animationDelay = `${Math.round(Math.random() * 300)}ms`;
    heart.addEventListener('animationend', () => heart.remove());
    field.append(heart);
  }
}
