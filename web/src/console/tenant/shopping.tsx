import { Anchor, Button, Code, Group, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useCallback, useState } from 'react';

import { api, client, unwrap } from '../lib/api.js';
import { time } from '../lib/format.js';
import { Empty, Heading, Section, useChange } from '../lib/parts.js';
import { CopyText, ProblemNote } from '../lib/problem.js';
import { useListState } from '../lib/table.js';
import { useShopPage } from '../messages/shop-page.js';
import { BrandForm } from './brand-form.js';
import { useIdentity, useMay, useMayCall } from './identity.js';
import { StreamPicker } from './pickers.js';
import { SellerNote } from './seller-note.js';
import { EmbedCode } from './shop-embed.js';
import { showLink, tokenCall } from './shop-links.js';
import { ShopPreview } from './shop-preview.js';
import { Replays } from './shop-replays.js';

// The hosted page of a stream: its link, the code that embeds it, and the brand. The stream is in the page's address.
export default function Shopping() {
  const t = useShopPage();
  const may = useMay();
  const [{ stream }, change] = useListState();
  const [looks, setLooks] = useState(0); // of the brand, after each change
  const choose = useCallback((id: string) => change({ stream: id }), [change]);
  const any = useQuery({
    queryKey: ['streams', 'any'], queryFn: () => unwrap(client.GET('/v1/me/streams', { params: { query: { limit: 1 } } })),
  });
  const brand = <Section title={t('brand')}><BrandForm saved={() => setLooks((was) => was + 1)} /></Section>;
  return (
    <Stack>
      <Heading title={t('title')} />
      {may('commerce:read') && <SellerNote mb={0} />}
      <Text size="sm">{t('intro')}</Text>
      <ProblemNote error={any.error} onRetry={() => void any.refetch()} />
      <div className="beside">
        <Stack miw={0}>
          {any.data?.length === 0 && (
            <Section title={t('stream')}>
              <Stack align="center"><Empty text={t('noStreams')}><Link className="link" to="/streams">{t('toStreams')}</Link></Empty></Stack>
            </Section>
          )}
          {any.data && any.data.length > 0 && (
            <StreamPicker label={t('stream')} hint={t('streamHint')} required={false} chosen={stream ?? null} choose={choose} />
          )}
          {stream && <Parts key={stream} id={stream} looks={looks} />}
        </Stack>
        {brand}
      </div>
    </Stack>
  );
}

function Parts({ id, looks }: { id: string; looks: number }) {
  const may = useMay();
  const query = api.useQuery('get', '/v1/me/streams/{id}', { params: { path: { id } } });
  const stream = query.data;
  if (!stream) return <ProblemNote error={query.error} onRetry={() => void query.refetch()} />;
  return (
    <>
      <ShopPreview id={id} looks={looks} />
      <ShowLink id={id} />
      <EmbedCode stream={stream} />
      {may('recordings:read') && <Replays stream={stream} />}
    </>
  );
}

function ShowLink({ id }: { id: string }) {
  const t = useShopPage();
  const mayCall = useMayCall();
  const { user } = useIdentity();
  const make = useChange(() => unwrap(client.POST('/v1/me/streams/{id}/sfu-token', {
    params: { path: { id } }, body: { ...(user && { displayName: user.name }) },
  })), { shows: true });
  const test = make.data && showLink(id, make.data.token);
  const link = showLink(id);
  return (
    <Section title={t('link')}>
      <Stack gap="xs">
        <Text size="sm">{t('linkText')}</Text>
        <Group gap="xs">
          <Code data-testid="show-link">{`${link}&token=…`}</Code><CopyText text={`${link}&token=`} label={t('copyLink')} />
        </Group>
        <Text size="sm">{t('serverCall')}</Text>
        <Code block className="wrapped">{tokenCall(id)}</Code>
        <div><CopyText text={tokenCall(id)} label={t('copyCall')} /></div>
        {mayCall('createSfuToken') && (
          <>
            <Text size="sm">{t('testText')}</Text>
            <Group gap="xs">
              <Button size="xs" variant="default" loading={make.isPending} data-testid="test-link" onClick={() => make.mutate(undefined)}>
                {t('testLink')}
              </Button>
              {test && <CopyText key={test} text={test} label={t('copyTest')} />}
              {test && (
                <Anchor size="sm" href={test} target="_blank" rel="noreferrer" underline="always" data-testid="open-test">{t('openTest')}</Anchor>
              )}
            </Group>
            {make.data && <Text size="xs" c="dimmed" role="status">{t('testUntil', { time: time(make.data.expiresAt) })}</Text>}
            <ProblemNote error={make.error} />
          </>
        )}
      </Stack>
    </Section>
  );
}
