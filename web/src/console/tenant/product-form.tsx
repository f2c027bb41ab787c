import { Group, Textarea, TextInput } from '@mantine/core';
import { useState } from 'react';

import type { Product, ProductInput } from '../../gen/api.js';
import { centsText, exampleAmount, parseCents, parseStock, parseWhole } from '../lib/amount.js';
import { client, unwrap } from '../lib/api.js';
import { FormModal, useChange } from '../lib/parts.js';
import { fieldErrors } from '../lib/problem.js';
import { useCommon } from '../messages/common.js';
import { useSelling } from '../messages/selling.js';
import { saveFields } from './product-save.js';

type Fields = Record<'externalId' | 'name' | 'priceCents' | 'currency' | 'stock' | 'compareAtCents' | 'lowStockAt' | 'imageUrl' | 'description', string>;

const fieldsOf = (product?: Product): Fields => {
  const currency = product?.currency ?? 'usd';
  return {
    externalId: product?.externalId ?? '', name: product?.name ?? '', priceCents: centsText(product?.priceCents, currency), currency: currency.toUpperCase(),
    stock: String(product?.stock ?? -1), compareAtCents: centsText(product?.compareAtCents, currency), lowStockAt: String(product?.lowStockAt ?? 5),
    imageUrl: product?.imageUrl ?? '', description: product?.description ?? '',
  };
};

const createProduct = (body: ProductInput) => unwrap(client.POST('/v1/me/catalog/products', { body }));

// The form of a new product, or of one that exists. Of the latter only changed fields are saved: sales and other users may have changed
// the others, such as the stock, since the form was opened.
export function ProductForm({ product, close }: { product?: Product; close: () => void }) {
  const t = useSelling();
  const common = useCommon();
  const [before] = useState(() => fieldsOf(product));
  const [fields, setFields] = useState(before);
  const [wrong, setWrong] = useState<Partial<Fields>>({});
  const save = useChange((body: Partial<ProductInput>) => (product ? saveFields(product, body) : createProduct(body as ProductInput)), {
    shows: true, done: common('saved'), after: close, touches: [['products']],
  });
  const refused = { ...fieldErrors(save.error), ...wrong };
  const field = (name: keyof Fields) => ({
    name, value: fields[name], error: refused[name],
    onChange: (event: { currentTarget: { value: string } }) => {
      const { value } = event.currentTarget;
      setFields((was) => ({ ...was, [name]: value }));
    },
  });
  const submit = () => {
    const currency = fields.currency.trim();
    const changed = (name: keyof Fields) => !product || fields[name] !== before[name];
    const [price, stock, low] = [parseCents(fields.priceCents, currency), parseStock(fields.stock), parseWhole(fields.lowStockAt)];
    const compare = fields.compareAtCents.trim() === '' ? null : parseCents(fields.compareAtCents, currency);
    const badPrice = t('badPrice', exampleAmount(currency));
    const faults: Partial<Fields> = {
      ...(price === null && { priceCents: badPrice }), ...(stock === null && { stock: t('badStock') }), ...(low === null && { lowStockAt: t('badLowStock') }),
      ...(compare === null && fields.compareAtCents.trim() && { compareAtCents: badPrice }),
    };
    setWrong(faults);
    if (Object.keys(faults).length > 0 || price === null || stock === null || low === null) return;
    save.mutate({
      ...(!product && { externalId: fields.externalId.trim() }), ...(changed('name') && { name: fields.name.trim() }),
      // Another currency may have other cents, so the prices go with it.
      ...((changed('priceCents') || changed('currency')) && { priceCents: price }),
      ...(changed('currency') && { currency: currency.toUpperCase() }),
      ...((changed('compareAtCents') || changed('currency')) && { compareAtCents: compare }),
      ...(changed('stock') && { stock }), ...(changed('lowStockAt') && { lowStockAt: low }),
      ...(changed('imageUrl') && { imageUrl: fields.imageUrl.trim() || null }), ...(changed('description') && { description: fields.description }),
    });
  };
  return (
    <FormModal title={t(product ? 'editProduct' : 'newProduct')} open close={close} submit={submit} busy={save.isPending} error={save.error}
      action={common(product ? 'save' : 'create')}>
      <TextInput label={common('name')} required maxLength={250} data-autofocus {...field('name')} />
      <TextInput label={t('sku')} description={product ? undefined : t('skuHint')} required maxLength={128} disabled={!!product} {...field('externalId')} />
      <Group grow align="start">
        <TextInput label={t('price')} required inputMode="decimal" {...field('priceCents')} />
        <TextInput label={t('currency')} required maxLength={3} minLength={3} {...field('currency')} />
      </Group>
      <TextInput label={t('stock')} description={t('stockHint')} required {...field('stock')} />
      <Group grow align="start">
        <TextInput label={t('compareAt')} inputMode="decimal" {...field('compareAtCents')} />
        <TextInput label={t('lowStockAt')} required inputMode="numeric" {...field('lowStockAt')} />
      </Group>
      <TextInput label={t('imageUrl')} type="url" {...field('imageUrl')} />
      <Textarea label={t('description')} maxLength={5000} autosize minRows={2} maxRows={6} {...field('description')} />
    </FormModal>
  );
}
