import { Alert, Code, Group, Select, Stack, Text, TextInput } from '@mantine/core';
import { useState } from 'react';

import type { Recording, Stream } from '../../gen/api.js';
import { time } from '../lib/format.js';
import { Section } from '../lib/parts.js';
import { CopyText } from '../lib/problem.js';
import { useShopPage } from '../messages/shop-page.js';
import { useIdentity } from './identity.js';
import { embedCode, isOpenReplay } from './shop-links.js';
import { useReplays } from './shop-replays.js';

const liveShow = 'live';

// The element for a website, with the choices that most shops need. The others are in docs/shopping.md.
export function EmbedCode({ stream }: { stream: Stream }) {
  const t = useShopPage();
  const { tenant: { embedOrigins } } = useIdentity();
  const replays = useReplays(stream.id).rows ?? [];
  const [shows, setShows] = useState(liveShow);
  const [tokenUrl, setTokenUrl] = useState('/showfloor-token');
  const [cart, setCart] = useState('page');
  const replay = replays.find(({ id }) => id === shows);
  const needsToken = !replay || !isOpenReplay(stream, replay);
  const code = embedCode({ ...(replay ? { vod: replay.id } : { room: stream.id }), tokenUrl: needsToken ? tokenUrl : '', cart });
  const nameOf = ({ name, startedAt }: Recording) => name ?? time(startedAt);
  const contents = [
    { value: liveShow, label: t('live') },
    ...replays.map((recording) => ({ value: recording.id, label: t('replay', { name: nameOf(recording) }) })),
  ];
  return (
    <Section title={t('embed')}>
      <Stack gap="sm">
        <Text size="sm">{t('embedText')}</Text>
        {embedOrigins.length === 0
          ? <Alert variant="outline" color="orange" role="status" p="xs">{t('noOrigins')}</Alert>
          : <Text size="sm" c="dimmed">{t('allowed', { list: embedOrigins.join(', ') })}</Text>}
        <Group grow align="start" preventGrowOverflow={false}>
          <Select label={t('shows')} value={shows} allowDeselect={false} comboboxProps={{ withinPortal: false }} data={contents}
            onChange={(next) => setShows(next ?? liveShow)} />
          <Select label={t('cart')} value={cart} allowDeselect={false} comboboxProps={{ withinPortal: false }}
            data={[{ value: 'page', label: t('cartPage') }, { value: 'shop', label: t('cartShop') }]} onChange={(next) => setCart(next ?? 'page')} />
        </Group>
        {needsToken && (
          <TextInput label={t('tokenUrl')} description={t('tokenUrlHint')} name="tokenUrl" maxLength={2048} value={tokenUrl}
            onChange={(event) => setTokenUrl(event.currentTarget.value)} />
        )}
        <Code block className="wrapped" aria-label={t('code')} data-testid="embed-code">{code}</Code>
        <div><CopyText key={code} text={code} label={t('copyCode')} /></div>
      </Stack>
    </Section>
  );
}
