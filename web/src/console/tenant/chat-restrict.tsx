import { Button, Menu, Modal, Select, Stack, Text, TextInput } from '@mantine/core';
import { useState } from 'react';

import { useChange } from '../lib/parts.js';
import { ProblemNote } from '../lib/problem.js';
import { useChat } from '../messages/chat.js';
import { useCommon } from '../messages/common.js';
import {
  liftRestriction, moderationKeys, restrict, restrictionKinds, useModerator, type ChatUser, type RestrictionKind, type RestrictionState,
} from './chat-data.js';

const texts = { mute: 'muteText', timeout: 'timeoutText', ban: 'banText' } as const;
export const undos = { mute: 'unmute', timeout: 'untimeout', ban: 'unban' } as const;
const durations = [
  { sec: 60, text: 'minute1' }, { sec: 300, text: 'minute5' }, { sec: 600, text: 'minute10' }, { sec: 3600, text: 'hour1' },
  { sec: 86_400, text: 'day1' }, { sec: 604_800, text: 'day7' },
] as const;

// Entries of a user's menu that restrict the user in a chat or undo it, with the dialog that asks before.
export function useRestricting(channel: string, restrictions: RestrictionState[]) {
  const t = useChat();
  const by = useModerator();
  const lift = useLift(channel);
  const [asked, setAsked] = useState<{ kind: RestrictionKind; user: ChatUser } | null>(null);
  const items = (user: ChatUser) => restrictionKinds.map((kind) => (
    restrictions.some((one) => one.kind === kind && one.userId === user.userId)
      ? <Menu.Item key={kind} onClick={() => lift.mutate({ kind, userId: user.userId })}>{t(undos[kind])}</Menu.Item>
      : <Menu.Item key={kind} color="var(--mantine-color-error)" onClick={() => setAsked({ kind, user })}>{t(kind)}</Menu.Item>
  ));
  const dialog = asked && by && <RestrictDialog channel={channel} by={by} {...asked} close={() => setAsked(null)} />;
  return { items, dialog };
}

// Ends a restriction.
export function useLift(channel: string) {
  const common = useCommon();
  const by = useModerator() ?? '';
  return useChange(({ kind, userId }: { kind: RestrictionKind; userId: string }) => liftRestriction(channel, kind, userId, by), {
    done: common('done'), touches: moderationKeys(channel),
  });
}

interface RestrictDialogProps { channel: string; by: string; kind: RestrictionKind; user: ChatUser; close: () => void }

function RestrictDialog({ channel, by, kind, user, close }: RestrictDialogProps) {
  const t = useChat();
  const common = useCommon();
  const [duration, setDuration] = useState('300');
  const [reason, setReason] = useState('');
  const change = useChange(() => restrict(channel, kind, {
    target: user.userId, by, ...(reason.trim() && { reason: reason.trim() }), durationSec: Number(duration),
  }), { shows: true, done: common('done'), after: close, touches: moderationKeys(channel) });
  return (
    <Modal opened onClose={close} title={t(kind)} closeButtonProps={{ 'aria-label': common('close') }}>
      <form onSubmit={(event) => { event.preventDefault(); change.mutate(undefined); }}>
        <Stack>
          <Text size="sm" className="prose">{t(texts[kind], { name: user.name })}</Text>
          {kind === 'timeout' && (
            <Select label={t('duration')} value={duration} allowDeselect={false} onChange={(next) => setDuration(next ?? duration)}
              data={durations.map(({ sec, text }) => ({ value: String(sec), label: t(text) }))} />
          )}
          <TextInput label={t('reason')} description={t('reasonHint')} name="reason" maxLength={500} value={reason} data-autofocus
            onChange={(event) => setReason(event.currentTarget.value)} />
          <ProblemNote error={change.error} />
          <Button type="submit" color="red.9" loading={change.isPending} data-testid="confirm">{t(kind)}</Button>
        </Stack>
      </form>
    </Modal>
  );
}
