import { Alert, Button, Group, Text } from '@mantine/core';
import { useLayoutEffect, useState } from 'react';

import { useCommon } from '../messages/common.js';
import { asProblem } from './api.js';
import { problemText } from './problem-text.js';

export function CopyText({ text, label }: { text: string; label?: string }) {
  const t = useCommon();
  const [copied, setCopied] = useState(false);
  return (
    <Button size="compact-xs" variant="default" onClick={() => { void navigator.clipboard.writeText(text).then(() => setCopied(true)); }}>
      {copied ? t('copied') : (label ?? t('copy'))}
    </Button>
  );
}

// The number of notes on the page for each error.
const notes = new Map<unknown, number>();
// Called after a change of notes.
const listeners = new Set<() => void>();

export const isShown = (error: unknown) => notes.has(error);

export function onNotesChange(listener: () => void): () => void {
  listeners.add(listener);
  return () => { listeners.delete(listener); };
}

function changeNotes(error: unknown, by: number) {
  const times = (notes.get(error) ?? 0) + by;
  if (times > 0) notes.set(error, times);
  else notes.delete(error);
  for (const listener of listeners) listener();
}

interface NoteProps { error: unknown; onRetry?: () => void }

// Shows an error: the sentence, the faults of fields, the code, and the request's id for a report.
export function ProblemNote({ error, onRetry }: NoteProps) {
  useLayoutEffect(() => {
    if (!error) return undefined;
    changeNotes(error, 1);
    return () => changeNotes(error, -1);
  }, [error]);
  return error ? <ProblemAlert error={error} onRetry={onRetry} /> : null;
}

// The alert of an error. note is a sentence about what it means for the page.
export function ProblemAlert({ error, onRetry, note, mb }: NoteProps & { note?: string; mb?: string }) {
  const t = useCommon();
  const problem = asProblem(error);
  const { text, detail } = problemText(problem);
  return (
    <Alert color="red" variant="outline" role="alert" title={text || t('network')} mb={mb}>
      {note && <Text size="sm">{note}</Text>}
      {detail && <Text size="sm">{detail}</Text>}
      {problem.errors?.map((fault) => <Text key={fault.field + fault.message} size="sm">{fault.field}: {fault.message}</Text>)}
      <Group gap="xs" mt={4}>
        <Text size="xs">{t('problemCode')}: {problem.code}</Text>
        {problem.requestId && <Text size="xs">{t('request')}: {problem.requestId}</Text>}
        {problem.requestId && <CopyText text={problem.requestId} />}
        {onRetry && <Button size="compact-xs" variant="default" onClick={onRetry}>{t('retry')}</Button>}
      </Group>
    </Alert>
  );
}

// The faults of a problem by field, for a form.
export function fieldErrors(error: unknown): Record<string, string> {
  return Object.fromEntries((asProblem(error).errors ?? []).map((fault) => [fault.field, fault.message]));
}
