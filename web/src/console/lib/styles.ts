const meta = (name: string) => document.querySelector<HTMLMetaElement>(`meta[name="${name}"]`)?.content ?? '';

// The nonce that the page's policy allows for style elements.
export const nonce = meta('nonce');

let loading: Promise<void> | undefined;

// Loads the style sheet of the screens behind the sign-in.
export function loadScreenStyles(): Promise<void> {
  loading ??= new Promise((resolve, reject) => {
    const link = document.createElement('link');
    link.rel = 'stylesheet';
    link.href = meta('screens');
    link.onload = () => resolve();
    link.onerror = () => {
      link.remove();
      loading = undefined; // the next call tries again
      reject(new Error('the style sheet of the screens could not be loaded'));
    };
    document.head.append(link);
  });
  return loading;
}
