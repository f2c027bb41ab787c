import { wasSignedIn } from './session.js';
import { loadScreenStyles } from './styles.js';

// Loads the frame around the screens, with their style sheet.
export async function loadFrame() {
  const [frame] = await Promise.all([import('./frame.js'), loadScreenStyles()]);
  return frame;
}

// A browser whose user was signed in most likely shows the frame, so it doesn't wait until the server has confirmed the login.
if (wasSignedIn()) loadFrame().catch(() => undefined); // the frame reports the error, if it is shown
