import { createContext } from 'preact';
import { useContext } from 'preact/hooks';

import type { ApiError, HostApi, LiveShow } from '../shop/index.js';

/** The state that the parts of the studio share. */
export interface Studio {
  show: LiveShow;
  host: HostApi;
  token: string;
  /** Whether the token is the host's; a cohost only moderates and sees the sales. */
  hosts: boolean;
  /** Shows a message for some seconds; screen readers read it. */
  notify: (text: string) => void;
  /** Shows why the server has refused something. */
  refuse: (error: ApiError) => void;
}

export const StudioContext = createContext<Studio | undefined>(undefined);

/** Returns what the parts of the studio share. */
export function useStudio(): Studio {
  const studio = useContext(StudioContext);
  if (!studio) throw new Error('no studio');

  return studio;
}
