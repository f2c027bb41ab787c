import { Alert, Button, Group } from '@mantine/core';

import { CopyText } from '../lib/problem.js';
import { useRooms } from '../messages/rooms.js';

export interface RoomLink { url: string; name: string }

// A link to the room page of this server, with the token of one participant.
export function roomLink(room: string, token: string, name: string): RoomLink {
  const url = new URL('/scenarios/conference/', location.origin);
  url.search = new URLSearchParams({ room, token }).toString();
  return { url: url.href, name };
}

export function RoomLinkNote({ link: { url, name } }: { link: RoomLink }) {
  const t = useRooms();
  return (
    <Alert variant="outline" color="brand" role="status" title={t('linkReady', { name })}>
      <Group gap="xs">
        <CopyText key={url} text={url} label={t('copyLink')} />
        <Button size="compact-xs" component="a" href={url} target="_blank" rel="noreferrer" data-testid="room-link">{t('openRoom')}</Button>
      </Group>
    </Alert>
  );
}
