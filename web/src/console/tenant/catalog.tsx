import { Button, Group, TextInput } from '@mantine/core';
import { useState, type KeyboardEvent } from 'react';

import type { Product, ProductInput } from '../../gen/api.js';
import { centsText, exampleAmount, parseCents, parseStock } from '../lib/amount.js';
import { client, unwrap } from '../lib/api.js';
import { useCursorList } from '../lib/cursor.js';
import { CursorList } from '../lib/cursor-list.js';
import { time, unitsOf } from '../lib/format.js';
import { Empty, Heading, Status, useChange, useConfirm } from '../lib/parts.js';
import { useListState } from '../lib/table.js';
import { useCommon } from '../messages/common.js';
import { useSelling } from '../messages/selling.js';
import { CatalogImport } from './catalog-import.js';
import { useMay } from './identity.js';
import { ProductForm } from './product-form.js';
import { saveFields } from './product-save.js';
import { SellerNote } from './seller-note.js';

const touches = [['products']];

export default function Catalog() {
  const t = useSelling();
  const common = useCommon();
  const may = useMay();
  const confirm = useConfirm();
  const [state] = useListState();
  const [edited, setEdited] = useState<Product | 'new' | null>(null);
  const [importing, setImporting] = useState(false);
  const filter = { ...(state.q && { q: state.q }), ...(state.activeOnly === '1' && { activeOnly: '1' as const }) };
  const list = useCursorList<Product>(['products', filter], (query, signal) => (
    client.GET('/v1/me/catalog/products', { params: { query: { ...query, ...filter } }, signal })
  ));
  const write = may('catalog:write');
  const save = useChange(({ product, fields }: { product: Product; fields: Partial<ProductInput> }) => saveFields(product, fields), { done: common('saved'), touches });
  const archive = useChange((id: string) => (
    unwrap(client.DELETE('/v1/me/catalog/products/{id}', { params: { path: { id } } }))
  ), { done: common('done'), touches });
  const change = (product: Product, fields: Partial<ProductInput>) => save.mutate({ product, fields });
  return (
    <>
      <Heading title={t('catalog')}>
        {write && <Button size="xs" variant="default" onClick={() => setImporting(true)}>{t('importCsv')}</Button>}
        {write && <Button size="xs" onClick={() => setEdited('new')}>{t('newProduct')}</Button>}
      </Heading>
      <SellerNote />
      <CursorList<Product> name="catalog" label={t('catalog')} list={list}
        filters={[{ key: 'q', label: t('find') }, { key: 'activeOnly', label: t('state'), options: [{ value: '1', label: t('activeProduct') }] }]}
        empty={<Empty text={t('noProducts')} />}
        columns={[
          { key: 'name', title: common('name'), value: ({ name }) => name },
          { key: 'sku', title: t('sku'), value: ({ externalId }) => externalId, wide: true },
          { key: 'price', title: t('price'), value: ({ priceCents, currency }) => unitsOf(priceCents, currency), render: (product) => (write && product.active
            ? <Inline label={t('fieldOf', { field: t('price'), name: product.name })} text={centsText(product.priceCents, product.currency)}
                invalid={t('badPrice', exampleAmount(product.currency))}
                unit={product.currency.toUpperCase()} save={(text) => {
                  const priceCents = parseCents(text, product.currency);
                  if (priceCents !== null) change(product, { priceCents });
                  return priceCents !== null;
                }} />
            : `${centsText(product.priceCents, product.currency)} ${product.currency.toUpperCase()}`) },
          { key: 'currency', title: t('currency'), value: ({ currency }) => currency.toUpperCase(), wide: true },
          { key: 'stock', title: t('stock'), value: ({ stock }) => stock, render: (product) => (write && product.active
            ? <Inline label={t('fieldOf', { field: t('stock'), name: product.name })} text={String(product.stock)} invalid={t('badStock')}
                save={(text) => {
                  const stock = parseStock(text);
                  if (stock !== null) change(product, { stock });
                  return stock !== null;
                }} />
            : product.stock) },
          { key: 'state', title: t('state'), value: ({ active }) => t(active ? 'activeProduct' : 'archivedProduct'), render: ({ active }) => (
            <Status of={active ? 'ACTIVE' : 'ARCHIVED'} label={t(active ? 'activeProduct' : 'archivedProduct')} />
          ) },
          { key: 'updated', title: t('updated'), value: ({ updatedAt }) => updatedAt, render: ({ updatedAt }) => time(updatedAt), wide: true },
        ]}
        actions={write ? (product) => (
          <Group gap={4} justify="flex-end" wrap="nowrap">
            <Button size="compact-xs" variant="default" onClick={() => setEdited(product)}>{t('edit')}</Button>
            {product.active
              ? <Button size="compact-xs" variant="default" onClick={() => (
                  confirm(t('archive'), t('archiveText', { name: product.name }), () => archive.mutate(product.id))
                )}>{t('archive')}</Button>
              : <Button size="compact-xs" variant="default" onClick={() => change(product, { active: true })}>{t('restore')}</Button>}
          </Group>
        ) : undefined} />
      {edited && <ProductForm product={edited === 'new' ? undefined : edited} close={() => setEdited(null)} />}
      {importing && <CatalogImport close={() => setImporting(false)} />}
    </>
  );
}

interface InlineProps { label: string; text: string; unit?: string; invalid: string; save: (text: string) => boolean }

// A field in a table. Enter and leaving the field save it, Escape restores it.
function Inline({ label, text, unit, invalid, save }: InlineProps) {
  const [typed, setTyped] = useState<string | null>(null);
  const [wrong, setWrong] = useState(false);
  const finish = () => {
    if (typed === null || typed.trim() === text) { setTyped(null); setWrong(false); return; }
    const saved = save(typed);
    setWrong(!saved);
    if (saved) setTyped(null);
  };
  const press = ({ key, currentTarget }: KeyboardEvent<HTMLInputElement>) => {
    if (key === 'Enter') currentTarget.blur();
    if (key === 'Escape') { setTyped(null); setWrong(false); }
  };
  return (
    <TextInput size="xs" aria-label={label} w={unit ? 120 : 80} inputMode="decimal" value={typed ?? text} error={wrong && invalid}
      rightSection={unit} rightSectionWidth={unit ? 44 : 0} onChange={(event) => setTyped(event.currentTarget.value)} onBlur={finish} onKeyDown={press} />
  );
}
