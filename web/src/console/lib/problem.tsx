import { Alert, Button, Group, Text } from '@mantine/core';
import { useState } from 'react';

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

// Shows an error: the sentence, the faults of fields, the code, and the request's id for a report.
export function ProblemNote({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const t = useCommon();
  if (!error) return null;
  const problem = asProblem(error);
  const { text, detail } = problemText(problem);
  return (
    <Alert color="red" variant="outline" role="alert" title={text || t('network')}>
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
