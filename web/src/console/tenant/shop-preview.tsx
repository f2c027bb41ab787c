import { Button, SegmentedControl, Stack, Text } from '@mantine/core';
import { useEffect, useRef, useState } from 'react';

import { isMessage, version } from '../../embed/protocol.js';
import { client, unwrap } from '../lib/api.js';
import { Section, useChange } from '../lib/parts.js';
import { ProblemNote } from '../lib/problem.js';
import { useShopPage } from '../messages/shop-page.js';
import { useIdentity, useMayCall } from './identity.js';

// The server shows a changed brand after at most a second.
const brandMs = 1500;

// The real page in a frame, as a website has it: it gets its token in a message, so that the token is in no address.
export function ShopPreview({ id, looks }: { id: string; looks: number }) {
  const t = useShopPage();
  const mayCall = useMayCall();
  const { user } = useIdentity();
  const [width, setWidth] = useState('desk');
  // The last token stays until the next one is there, so that the page in the frame goes on.
  const [token, setToken] = useState<string>();
  const open = useChange(() => unwrap(client.POST('/v1/me/streams/{id}/sfu-token', {
    params: { path: { id } }, body: { userId: `console-preview-${user?.id ?? ''}`, ...(user && { displayName: user.name }) },
  })), { shows: true, after: (renewed) => setToken(renewed.token) });
  const widths = [{ value: 'desk', label: t('desk') }, { value: 'phone', label: t('phone') }];
  return (
    <Section title={t('preview')} aside={token && (
      <SegmentedControl size="xs" aria-label={t('width')} value={width} onChange={setWidth} data={widths} />
    )}>
      {token ? <Frame id={id} token={token} phone={width === 'phone'} looks={looks} renew={() => open.mutate(undefined)} /> : (
        <Stack gap="xs" align="start">
          <Text size="sm" c="dimmed">{t(mayCall('createSfuToken') ? 'previewText' : 'previewRole')}</Text>
          {mayCall('createSfuToken') && (
            <Button size="xs" variant="default" loading={open.isPending} data-testid="show-preview" onClick={() => open.mutate(undefined)}>
              {t('showPreview')}
            </Button>
          )}
        </Stack>
      )}
      <ProblemNote error={open.error} />
    </Section>
  );
}

interface FrameProps { id: string; token: string; phone: boolean; looks: number; renew: () => void }

function Frame({ id, token, phone, looks, renew }: FrameProps) {
  const t = useShopPage();
  const frame = useRef<HTMLIFrameElement>(null);
  const [shown, setShown] = useState(looks);
  useEffect(() => {
    const timer = setTimeout(() => setShown(looks), shown === looks ? 0 : brandMs);
    return () => clearTimeout(timer);
  }, [looks, shown]);
  useEffect(() => {
    const take = ({ source, origin, data }: MessageEvent<unknown>) => {
      const page = frame.current?.contentWindow;
      if (!page || source !== page || origin !== location.origin || !isMessage(data)) return;
      if (data.type === 'ready') page.postMessage({ showfloor: version, type: 'hello', data: { token } }, location.origin);
      if (data.type === 'token.expiring') renew();
    };
    addEventListener('message', take);
    return () => removeEventListener('message', take);
  }, [token, renew]);
  useEffect(() => {
    frame.current?.contentWindow?.postMessage({ showfloor: version, type: 'token', data: { token } }, location.origin);
  }, [token]);
  return (
    <iframe key={shown} ref={frame} className={phone ? 'shop-preview phone' : 'shop-preview'} title={t('preview')}
      allow="autoplay; fullscreen" src={`/scenarios/shopping/?${new URLSearchParams({ room: id, embed: '1' })}`} />
  );
}
