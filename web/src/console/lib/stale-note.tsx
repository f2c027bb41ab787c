import { notifyManager, useQueryClient, type Query } from '@tanstack/react-query';
import { useCallback, useSyncExternalStore } from 'react';

import { useCommon } from '../messages/common.js';
import { isShown, onNotesChange, ProblemAlert } from './problem.js';

// The queries of the page that have data and could not be refreshed. Those with meta.ownNote report their errors themselves.
const stale = {
  type: 'active' as const,
  predicate: ({ state, meta }: Query) => state.status === 'error' && state.data !== undefined && !meta?.ownNote,
};

// Says that the page shows older data, because a refresh has failed. It leaves out errors that the page shows itself.
export function StaleNote() {
  const t = useCommon();
  const queries = useQueryClient();
  const listen = useCallback((listener: () => void) => {
    // Scheduled, so that the page's own note of an error comes first.
    const ends = [queries.getQueryCache().subscribe(() => notifyManager.schedule(listener)), onNotesChange(listener)];
    return () => ends.forEach((end) => end());
  }, [queries]);
  const error = useSyncExternalStore(listen, () => (
    queries.getQueryCache().findAll(stale).find(({ state }) => !isShown(state.error))?.state.error ?? null
  ));
  return error && <ProblemAlert error={error} note={t('stale')} onRetry={() => void queries.refetchQueries(stale)} mb="md" />;
}
