import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { setNonce } from 'get-nonce';
import { StrictMode, type ReactNode } from 'react';
import { createRoot } from 'react-dom/client';

import { asProblem } from './api.js';
import { nonce } from './styles.js';
import { theme, variables } from './theme.js';

// Queries run again when the page becomes visible, and not while it is hidden. Refusals are final; faults are repeated twice.
export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5000,
      retry: (count, error) => { const { status } = asProblem(error); return count < 2 && (status === 0 || status >= 500) && status !== 501; },
    },
  },
});

export function mount(page: ReactNode) {
  setNonce(nonce); // for the style element that locks the page's scrolling behind a dialog
  createRoot(document.getElementById('root')!).render(
    <StrictMode>
      <MantineProvider theme={theme} cssVariablesResolver={variables} defaultColorScheme="auto" getStyleNonce={() => nonce}>
        <QueryClientProvider client={queries}>{page}</QueryClientProvider>
      </MantineProvider>
    </StrictMode>,
  );
}
