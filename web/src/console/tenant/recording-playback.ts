import { useQuery } from '@tanstack/react-query';

import type { Recording, RecordingPlaybackUrl } from '../../gen/api.js';
import { client, unwrap } from '../lib/api.js';

// The URLs of a recording are valid for an hour.
export const renewAfterMs = 45 * 60_000;
const missingMs = 20_000;
// Files that don't exist an hour after the end of a recording are not made any more, such as pictures of sound alone.
const madeWithinMs = 60 * 60_000;

// loadedAt is this device's time of the answer: its clock may differ from the server's.
export type Playback = RecordingPlaybackUrl & { loadedAt: number };

const hasFiles = ({ posterUrl, storyboardUrl, mp4Url }: Playback) => [posterUrl, storyboardUrl, mp4Url].map(Boolean).join();

// Each answer has other URLs of the same files. The page keeps those that it shows until they are old or there are more files.
function kept(was: Playback | undefined, now: Playback): Playback {
  return was && now.loadedAt - was.loadedAt < renewAfterMs && hasFiles(was) === hasFiles(now) ? was : now;
}

// The URLs of a READY recording, which are renewed before they expire. Files that don't exist yet are asked for again.
export function usePlayback({ id, endedAt }: Pick<Recording, 'id' | 'endedAt'>, ready: boolean) {
  const renewal = ({ posterUrl, storyboardUrl, mp4Url, loadedAt }: Playback) => {
    const made = (posterUrl && storyboardUrl && mp4Url) || (endedAt && Date.now() - Date.parse(endedAt) > madeWithinMs);
    // Other requests meanwhile don't renew the URLs, see kept.
    return made ? Math.max(1000, loadedAt + renewAfterMs - Date.now()) : missingMs;
  };
  return useQuery({
    queryKey: ['recording-playback', id],
    queryFn: async ({ signal }): Promise<Playback> => ({
      ...await unwrap(client.GET('/v1/me/recordings/{id}/playback-url', { params: { path: { id } }, signal })), loadedAt: Date.now(),
    }),
    enabled: ready, gcTime: 0,
    structuralSharing: (was, now) => kept(was as Playback | undefined, now as Playback),
    refetchInterval: ({ state: { data } }) => (data ? renewal(data) : missingMs),
  });
}
