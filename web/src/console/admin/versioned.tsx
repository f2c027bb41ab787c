import { Alert, Button, Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';

import { asProblem } from '../lib/api.js';
import { Changes } from '../lib/changes.js';
import { differences } from '../lib/diff.js';
import { notify, useChange } from '../lib/parts.js';
import { ProblemNote } from '../lib/problem.js';
import { useAdminSupport } from '../messages/admin-support.js';
import { useCommon } from '../messages/common.js';

export interface Versioned<D> { data: D; etag: string }

// Returns the data of an answer with its ETag, or throws its problem.
export async function versioned<D>(answering: Promise<{ data?: D; error?: unknown; response: Response }>): Promise<Versioned<D>> {
  const { data, error, response } = await answering;
  if (data === undefined) throw error ?? new TypeError(`status ${response.status}`);
  return { data, etag: response.headers.get('ETag') ?? '*' };
}

type Fields = Record<string, unknown>;
interface Conflict<D> { before: D; now: Versioned<D> }

export interface DraftOptions<D, P> {
  // The state that is shown; it may be refreshed while the user types.
  current: Versioned<D>;
  load: () => Promise<Versioned<D>>;
  save: (draft: P, etag: string, seen: D) => Promise<unknown>;
  // The part of the state whose differences are shown after a conflict.
  fields: (of: D) => Fields;
  after?: () => void;
}

// The user's changes of an object. They are saved only over the state that the user saw when the first change was typed. If another
// admin was faster, the change is kept, and the conflict has both states.
export function useDraft<D, P extends object>({ current, load, save, fields, after }: DraftOptions<D, P>) {
  const t = useCommon();
  const queries = useQueryClient();
  const [draft, setDraft] = useState<P>({} as P);
  const [base, setBase] = useState<Versioned<D> | null>(null);
  const [conflict, setConflict] = useState<Conflict<D> | null>(null);
  const seen = base ?? current;
  const change = useChange(async (input: P) => {
    try {
      return await save(input, seen.etag, seen.data);
    } catch (error) {
      if (asProblem(error).status === 412) setConflict({ before: seen.data, now: await load() });
      throw error;
    }
  }, {
    shows: true,
    after: () => { setDraft({} as P); setBase(null); setConflict(null); notify(t('saved'), t('close')); after?.(); },
  });
  return {
    draft,
    changed: Object.keys(draft).length > 0,
    set: (next: Partial<P>) => { setBase((was) => was ?? current); setDraft((was) => ({ ...was, ...next })); },
    save: (now?: Partial<P>) => change.mutate({ ...draft, ...now }),
    saving: change.isPending,
    error: conflict ? null : change.error,
    seen: seen.data,
    conflict,
    fields,
    takeNew: () => {
      setBase(conflict && Object.keys(draft).length > 0 ? conflict.now : null);
      setConflict(null);
      change.reset();
      void queries.invalidateQueries();
    },
  };
}

export interface DraftState<D> {
  conflict: Conflict<D> | null; error: unknown; fields: (of: D) => Fields; takeNew: () => void;
}

// The problem of a draft. After a conflict it shows the other admin's change, and continues without losing the input.
export function DraftNote<D>({ draft: { conflict, error, fields, takeNew } }: { draft: DraftState<D> }) {
  const t = useAdminSupport();
  if (!conflict) return <ProblemNote error={error} />;
  const changes = differences(fields(conflict.before), fields(conflict.now.data));
  return (
    <Alert color="orange" variant="outline" role="alert" data-testid="conflict">
      <Text fw={700} size="sm">{t('changedTitle')}</Text>
      <Text size="sm">{t('changedText')}</Text>
      {changes.length > 0 && <Changes of={changes} after={t('now')} />}
      <Button size="compact-sm" variant="default" mt="xs" onClick={takeNew} data-testid="take-new">{t('continueNew')}</Button>
    </Alert>
  );
}
