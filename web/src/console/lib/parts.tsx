import { Badge, Button, Card, Group, Modal, Skeleton, Stack, Text, Textarea, Title } from '@mantine/core';
import { modals } from '@mantine/modals';
import { notifications } from '@mantine/notifications';
import { useMutation, useQueryClient, type QueryKey } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';

import { useCommon } from '../messages/common.js';
import { asProblem } from './api.js';
import { problemText } from './problem-text.js';
import { ProblemNote } from './problem.js';

export function Heading({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <Group justify="space-between" mb="md">
      <Title order={1} size="h3" className="wrap">{title}</Title>
      {children && <Group gap="xs">{children}</Group>}
    </Group>
  );
}

export function Section({ title, children, aside }: { title: string; children: ReactNode; aside?: ReactNode }) {
  return (
    <Card withBorder>
      <Group justify="space-between" mb="xs"><Title order={2} size="h5">{title}</Title>{aside}</Group>
      {children}
    </Card>
  );
}

// A figure, with a note if it needs one. Without a value it has the same size.
export function Figure({ label, value, note }: { label: string; value?: ReactNode; note?: string }) {
  return (
    <Card withBorder padding="sm">
      <Text size="xs" c="dimmed">{label}</Text>
      <Text fw={700} size="xl">{value ?? '…'}</Text>
      {note && <Text size="xs" c="dimmed">{note}</Text>}
    </Card>
  );
}

const colours = Object.entries({
  red: 'LIVE RECORDING FAILED SUSPENDED DISABLED REJECTED URGENT CRITICAL FAILING REVOKED STALLED UNPAID KICKED',
  orange: 'RECONNECTING PAST_DUE HIGH WARNING RETRYING REVIEW PARTIALLY_REFUNDED INCOMPLETE UNCOLLECTIBLE',
  green: 'ACTIVE GOOD READY DELIVERED OK RESOLVED VERIFIED PUBLISHED COMPLETED PAID ENABLED FULFILLED JOINED',
  blue: 'OPEN PENDING TRIAL TRIALING INFO RUNNING PROCESSING INVITED WAITING',
}).map(([colour, states]) => ({ colour, states: states.split(' ') }));

// A state of the API's, in the user's language and with its colour.
export function Status({ of, label }: { of: string; label: string }) {
  const { colour } = colours.find(({ states }) => states.includes(of.toUpperCase())) ?? { colour: 'gray' };
  return <Badge variant="dot" color={colour} size="sm" miw="max-content" tt="none">{label}</Badge>;
}

export function Empty({ text, children }: { text: string; children?: ReactNode }) {
  return <><Text c="dimmed" ta="center" maw={420}>{text}</Text>{children}</>;
}

// The height of a chart with its legend, in pixels.
export const chartHeight = 230;

// In place of what a query has not yet brought: its error, or a placeholder.
export function Waiting({ query, height = 300 }: { query: { error: unknown; refetch: () => unknown }; height?: number }) {
  return query.error ? <ProblemNote error={query.error} onRetry={() => void query.refetch()} /> : <Skeleton height={height} />;
}

export function notify(message: string, close: string) {
  notifications.show({ message, autoClose: 4000, closeButtonProps: { 'aria-label': close } });
}

export interface ChangeOptions<R> {
  done?: string;
  after?: (result: R) => void;
  shows?: boolean;
  // The keys, or their beginnings, of the queries that the change concerns: others are not loaded again. All without it.
  touches?: QueryKey[];
}

// Runs a change, loads what it concerns again, and shows an error as a notification unless the caller shows it.
export function useChange<A, R>(run: (input: A) => Promise<R>, options: ChangeOptions<R> = {}) {
  const queries = useQueryClient();
  const t = useCommon();
  return useMutation({
    mutationFn: run,
    onSuccess: (result) => {
      for (const queryKey of options.touches ?? [[]]) void queries.invalidateQueries({ queryKey });
      if (options.done) notify(options.done, t('close'));
      options.after?.(result);
    },
    onError: (error) => {
      const { text, detail } = problemText(asProblem(error));
      const message = [text || t('network'), detail].filter(Boolean).join(' ');
      if (!options.shows) notifications.show({ color: 'red', message, autoClose: false, closeButtonProps: { 'aria-label': t('close') } });
    },
  });
}

// Asks before a change that can't be undone. The text says what will happen.
export function useConfirm() {
  const t = useCommon();
  return (title: string, text: string, run: () => void) => modals.openConfirmModal({
    title, children: <Text size="sm">{text}</Text>, labels: { confirm: title, cancel: t('cancel') },
    confirmProps: { color: 'red.9', 'data-testid': 'confirm' } as never, onConfirm: run, closeButtonProps: { 'aria-label': t('close') },
  });
}

// A button that asks for a reason and says what will happen.
export function ReasonButton({ label, text, run }: { label: string; text: string; run: (reason: string) => Promise<unknown> }) {
  const t = useCommon();
  const [open, setOpen] = useState(false);
  const [reason, setReason] = useState('');
  const change = useChange(run, { shows: true, after: () => { setOpen(false); setReason(''); } });
  return (
    <>
      <Button size="xs" color="red.9" onClick={() => setOpen(true)}>{label}</Button>
      <Modal opened={open} onClose={() => setOpen(false)} title={label} closeButtonProps={{ 'aria-label': t('close') }}>
        <form onSubmit={(event) => { event.preventDefault(); change.mutate(reason); }}>
          <Stack>
            <Text size="sm">{text}</Text>
            <Textarea label={t('reason')} name="reason" required maxLength={500} value={reason} data-autofocus
              onChange={(event) => setReason(event.currentTarget.value)} />
            <ProblemNote error={change.error} />
            <Button type="submit" color="red.9" loading={change.isPending} data-testid="confirm">{label}</Button>
          </Stack>
        </form>
      </Modal>
    </>
  );
}

export interface FormModalProps { title: string; open: boolean; close: () => void; submit: () => void; busy: boolean; blocked?: boolean; error: unknown; action: string; children: ReactNode }

export function FormModal({ title, open, close, submit, busy, blocked = false, error, action, children }: FormModalProps) {
  const t = useCommon();
  return (
    <Modal opened={open} onClose={close} title={title} closeButtonProps={{ 'aria-label': t('close') }}>
      <form onSubmit={(event) => { event.preventDefault(); submit(); }}>
        <Stack>
          {children}
          <ProblemNote error={error} />
          <Button type="submit" loading={busy} disabled={blocked} data-testid="submit">{action}</Button>
        </Stack>
      </form>
    </Modal>
  );
}
