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

// The errors that are on the page, and the listeners to changes of them.
const shown = new Map<unknown, number>();
const listeners = new Set<() => void>();

export const isShown = (error: unknown) => shown.has(error);

export function whenShown(listener: () => void): () => void {
  listeners.add(listener);
  return () => { listeners.delete(listener); };
}

function count(error: unknown, more: number) {
  const times = (shown.get(error) ?? 0) + more;
  if (times > 0) shown.set(error, times);
  else shown.delete(error);
  for (const listener of listeners) listener();
}

interface NoteProps { error: unknown; onRetry?: () => void }

// Shows an error: the sentence, the faults of fields, the code, and the request's id for a report.
export function ProblemNote({ error, onRetry }: NoteProps) {
  useLayoutEffect(() => {
    if (!error) return undefined;
    count(error, 1);
    return () => count(error, -1);
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
