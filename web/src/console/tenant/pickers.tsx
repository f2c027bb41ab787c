import { Select } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';

import type { Product, Stream } from '../../gen/api.js';
import { asProblem, client, unwrap } from '../lib/api.js';
import { useCursorList } from '../lib/cursor.js';
import { money, number } from '../lib/format.js';
import { problemText } from '../lib/problem-text.js';
import { useAuctions } from '../messages/auctions.js';
import { useStates } from '../messages/states.js';

const typingMs = 250;
const offered = 50;
const nameOf = ({ name, externalId }: Product) => `${name} (${externalId})`;
const reasonOf = (error: unknown) => (error ? problemText(asProblem(error)).text : undefined);

interface ProductPickerProps { chosen: Product | null; error?: string; choose: (product: Product | null) => void }

// A product that is on sale. The server searches as the user types.
export function ProductPicker({ chosen, error, choose }: ProductPickerProps) {
  const t = useAuctions();
  const [typed, setTyped] = useState('');
  const [search] = useDebouncedValue(typed, typingMs);
  const q = chosen && search === nameOf(chosen) ? '' : search.trim();
  const found = useQuery({
    queryKey: ['products', 'picked', q],
    queryFn: () => unwrap(client.GET('/v1/me/catalog/products', {
      params: { query: { activeOnly: '1', limit: offered, ...(q && { q }) } },
    })),
    placeholderData: keepPreviousData,
  });
  const products = [...(chosen && !found.data?.some(({ id }) => id === chosen.id) ? [chosen] : []), ...(found.data ?? [])];
  const facts = chosen && t('productFacts', {
    price: money(chosen.priceCents, chosen.currency), stock: chosen.stock < 0 ? t('uncounted') : number(chosen.stock),
  });
  return (
    <Select label={t('product')} description={facts ?? t('productHint')} withAsterisk searchable clearable data-autofocus
      value={chosen?.id ?? null} error={error ?? reasonOf(found.error)} nothingFoundMessage={t('noProduct')}
      filter={({ options }) => options} clearButtonProps={{ 'aria-label': t('chooseProduct') }} comboboxProps={{ withinPortal: false }}
      searchValue={typed} onSearchChange={setTyped}
      data={products.map((product) => ({ value: product.id, label: nameOf(product) }))}
      onChange={(id) => choose(products.find((product) => product.id === id) ?? null)} />
  );
}

const mostStreams = 1000;
const rank = ({ status }: Stream) => (status === 'LIVE' || status === 'RECONNECTING' ? 0 : 1);

interface StreamPickerProps {
  chosen: string | null; error?: string; label?: string; hint?: string; required?: boolean; choose: (id: string) => void;
  // Only streams that aren't on air are offered.
  offAir?: boolean;
  // Said if no stream is offered.
  none?: string;
}

// A stream of the tenant's. Those on air come first; the only one on air, or the only one at all, is chosen at the start.
export function StreamPicker({ chosen, error, label, hint, required = true, offAir = false, none: noneText, choose }: StreamPickerProps) {
  const t = useAuctions();
  const states = useStates();
  const list = useCursorList<Stream>(['streams'], (query, signal) => client.GET('/v1/me/streams', { params: { query }, signal }));
  const { hasNextPage, isFetchingNextPage, isFetchNextPageError, fetchNextPage } = list;
  const streams = (list.rows ?? []).filter((stream) => !offAir || rank(stream) === 1).toSorted((a, b) => rank(a) - rank(b));
  const more = hasNextPage && !isFetchingNextPage && !isFetchNextPageError && streams.length < mostStreams;
  useEffect(() => { if (more) void fetchNextPage(); }, [more, fetchNextPage]);
  const onAir = streams.filter((stream) => rank(stream) === 0);
  const candidates = onAir.length > 0 ? onAir : streams;
  const obvious = list.rows && !hasNextPage && candidates.length === 1 ? candidates[0]?.id : undefined;
  useEffect(() => { if (!chosen && obvious) choose(obvious); }, [chosen, obvious, choose]);
  const none = list.rows && !hasNextPage && streams.length === 0;
  return (
    <Select label={label ?? t('stream')} description={none ? noneText ?? t('noStream') : hint ?? t('streamHint')} withAsterisk={required}
      searchable allowDeselect={false} value={chosen} error={error ?? reasonOf(list.error)} comboboxProps={{ withinPortal: false }} disabled={none}
      data={streams.map((stream) => ({
        value: stream.id, label: rank(stream) === 0 ? `${stream.name} · ${states(stream.status)}` : stream.name,
      }))}
      onChange={(id) => id && choose(id)} />
  );
}
