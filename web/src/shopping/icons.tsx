import type { VNode } from 'preact';

// Paths in a square of 24 units.
const paths = {
  close: 'M6 6l12 12M18 6L6 18',
  heart: 'M12 20.5S3.5 15.4 3.5 9.2A4.7 4.7 0 0 1 12 6.4a4.7 4.7 0 0 1 8.5 2.8c0 6.2-8.5 11.3-8.5 11.3Z',
  bag: 'M5.5 8.5h13l1 11.5h-15ZM8.5 8.5V7a3.5 3.5 0 0 1 7 0v1.5',
  cart: 'M3 4.5h2.3l2.4 10.8h9.8l2-7.6H6.2M9.3 19.3h.01M16.4 19.3h.01',
  send: 'M4 12l16-7.5-5.2 15.5-3.2-6.4ZM11.6 13.6l8.4-9.1',
  sound: 'M4 9.5v5h3.5L12 18.5v-13L7.5 9.5ZM15.5 9a4.2 4.2 0 0 1 0 6M18 6.5a7.8 7.8 0 0 1 0 11',
  mute: 'M4 9.5v5h3.5L12 18.5v-13L7.5 9.5ZM16 9.5l5 5M21 9.5l-5 5',
  play: 'M8 5.5v13l10.5-6.5Z',
  pause: 'M8.5 5.5v13M15.5 5.5v13',
  full: 'M4.5 9v-4.5H9M15 4.5h4.5V9M19.5 15v4.5H15M9 19.5H4.5V15',
  unfull: 'M9 4.5V9H4.5M19.5 9H15V4.5M15 19.5V15h4.5M4.5 15H9v4.5',
  minus: 'M6 12h12',
  plus: 'M6 12h12M12 6v12',
  trash: 'M5 7.5h14M9.5 7.5V5h5v2.5M7 7.5l.8 12h8.4l.8-12',
  tag: 'M4 4.5h7.5l8.3 8.3-7 7L4 11.5ZM8 8.5h.01',
  gavel: 'M13.5 4l6.5 6.5M11 6.5l6.5 6.5M12.2 5.3l-4 4 6.5 6.5 4-4M10.5 13L4 19.5',
  clock: 'M12 4a8 8 0 1 0 0 16 8 8 0 0 0 0-16ZM12 7.5V12l3 2',
  calendar: 'M5 6.5h14v13H5ZM5 10.5h14M9 4.5v4M15 4.5v4',
  check: 'M5 12.5l4.5 4.5L19 7.5',
  eye: 'M2.5 12S6 5.8 12 5.8 21.5 12 21.5 12 18 18.2 12 18.2 2.5 12 2.5 12ZM12 9.3a2.7 2.7 0 1 0 0 5.4 2.7 2.7 0 0 0 0-5.4Z',
  lock: 'M6.5 11h11v8.5h-11ZM9 11V8a3 3 0 0 1 6 0v3',
  alert: 'M12 4.5L2.8 19.5h18.4ZM12 10v4.5M12 17h.01',
  chevron: 'M9 5.5l6.5 6.5L9 18.5',
} as const;

export type IconName = keyof typeof paths;

/** An icon without a meaning for screen readers. */
export function Icon({ name, filled = false }: { name: IconName; filled?: boolean }): VNode {
  return (
    <svg class={filled ? 'icon filled' : 'icon'} viewBox="0 0 24 24" aria-hidden="true">
      <path d={paths[name]} />
    </svg>
  );
}
