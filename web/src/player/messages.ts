// The messages of the player page, each with what the viewer can do.
import type { ErrorData } from 'hls.js';

export interface Saying {
  text: string;
  /** An error rather than information. */
  bad?: boolean;
  /** false hides the button Try again. */
  canRetry?: boolean;
  /** The page tries again by itself. */
  waits?: boolean;
}

export const sayings = {
  nothing: { text: 'Paste the playback URL of a stream below and press Play.', canRetry: false },
  badAddress: {
    text: 'This address can’t be played here. Use one that starts with https://, or one of this server.',
    bad: true,
    canRetry: false,
  },
  oldBrowser: {
    text: 'This browser can’t play live streams. Open this page in a current Chrome, Firefox, Edge or Safari.',
    bad: true,
    canRetry: false,
  },
  pressPlay: { text: 'The browser plays only after a click. Press play in the video.', canRetry: false },
  ended: { text: 'The broadcast has ended. When it starts again, press Try again.' },
  broken: { text: 'The video can’t be decoded. Ask the publisher to send H.264 video and AAC sound.', bad: true },
};

/**
 * explain turns a fatal error of the engine into a message. If waits is true, the page
 * tries again by itself, because the stream may still start or the server may answer again.
 */
export function explain(data: ErrorData): Saying {
  const status = data.response?.code ?? 0;
  if (data.type === 'mediaError') return sayings.broken;
  if (data.type !== 'networkError') {
    return { text: `The player failed (${data.details}). Press Try again, or reload the page.`, bad: true };
  }
  if (data.details === 'manifestParsingError') {
    return { text: 'There is no HLS playlist at this address. Check that the playback URL is complete.', bad: true };
  }
  if (status === 401 || status === 403) {
    return { text: 'This playback URL is no longer valid. Ask for a new one and paste it below.', bad: true };
  }
  if (status === 404 || status === 410) {
    return {
      text: 'The stream hasn’t started, or the playback URL is wrong. Start the encoder: this page tries again by itself.',
      waits: true,
    };
  }
  if (status === 429) {
    return { text: 'Too many viewers in your network watch this stream. This page tries again by itself.', bad: true, waits: true };
  }
  if (status >= 500) {
    return { text: `The server has a problem (status ${status}). This page tries again by itself.`, bad: true, waits: true };
  }
  return {
    text: 'The server can’t be reached. Check that it runs and allows playback on other pages. This page tries again by itself.',
    bad: true,
    waits: true,
  };
}
