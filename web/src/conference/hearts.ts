import { byId, icon } from './dom.js';

const most = 12; // hearts at a time, so that those of many viewers don't hide the picture

/** Shows hearts that rise over the stage. */
export function showHearts(count: number): void {
  const field = byId('hearts');
  for (let i = 0; i < Math.min(count, most - field.childElementCount); i++) {
    const heart = icon('heart');
    heart.style.setProperty('--x', `${Math.random() * 5}rem`);
    heart.style.animationDelay = `${Math.random() * 0.4}s`;
    heart.addEventListener('animationend', () => heart.remove());
    field.append(heart);
  }
}
