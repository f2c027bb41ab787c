import { Button, ColorInput, Stack, Text, Textarea, TextInput } from '@mantine/core';
import { useState } from 'react';

import type { Tenant, TenantPatch } from '../../gen/api.js';
import { client, unwrap } from '../lib/api.js';
import { useChange } from '../lib/parts.js';
import { fieldErrors, ProblemNote } from '../lib/problem.js';
import { useCommon } from '../messages/common.js';
import { useConsole } from '../messages/console.js';
import { useIdentity, useMay } from './identity.js';

const fieldsOf = ({ name, brand, embedOrigins }: Tenant) => ({
  name, logoUrl: brand.logoUrl ?? '',
  primaryColor: brand.primaryColor ?? '', accentColor: brand.accentColor ?? '', origins: embedOrigins.join('\n'),
});
type Fields = ReturnType<typeof fieldsOf>;

// The changes only: another user may have changed the other fields since the form was opened.
function changesOf(before: Fields, form: Fields): TenantPatch {
  const changed = (field: keyof Fields) => form[field] !== before[field];
  const brand = {
    ...(changed('logoUrl') && { logoUrl: form.logoUrl.trim() || null }),
    ...(changed('primaryColor') && { primaryColor: form.primaryColor || null }),
    ...(changed('accentColor') && { accentColor: form.accentColor || null }),
  };
  return {
    ...(changed('name') && { name: form.name.trim() }), ...(Object.keys(brand).length > 0 && { brand }),
    ...(changed('origins') && { embedOrigins: form.origins.split(/\s+/).filter(Boolean) }),
  };
}

// The organisation's name, logo and colours, and the websites that may embed its pages.
export function BrandForm({ saved }: { saved?: () => void }) {
  const t = useConsole();
  const common = useCommon();
  const writes = useMay()('tenant:write');
  const { tenant } = useIdentity();
  const [before, setBefore] = useState(() => fieldsOf(tenant));
  const [form, setForm] = useState(before);
  const set = (change: Partial<Fields>) => setForm((was) => ({ ...was, ...change }));
  const save = useChange(() => unwrap(client.PATCH('/v1/me/tenant', { body: changesOf(before, form) })), {
    shows: true, done: common('saved'), after: (next) => { setBefore(fieldsOf(next)); setForm(fieldsOf(next)); saved?.(); },
  });
  const faults = fieldErrors(save.error);
  // The fault of a field, or of an element of a list.
  const fault = (field: string) => faults[field]
    ?? Object.entries(faults).find(([key]) => key.startsWith(`${field}.`) || key.startsWith(`${field}[`))?.[1];
  const changed = Object.keys(changesOf(before, form)).length > 0;
  const colour = (name: 'primaryColor' | 'accentColor') => ({
    label: t(name), name, format: 'hex' as const, value: form[name], readOnly: !writes, error: fault(`brand.${name}`),
    eyeDropperButtonProps: { 'aria-label': t(name) }, onChange: (value: string) => set({ [name]: value }),
  });
  return (
    <form onSubmit={(event) => { event.preventDefault(); if (changed) save.mutate(undefined); }}>
      <Stack gap="sm">
        {!writes && <Text size="sm">{t('readOnly')}</Text>}
        <TextInput label={t('tenantName')} name="tenantName" required maxLength={120} value={form.name} readOnly={!writes}
          error={fault('name')} onChange={(event) => set({ name: event.currentTarget.value })} />
        <TextInput label={t('logoUrl')} name="logoUrl" type="url" maxLength={2048} value={form.logoUrl} readOnly={!writes}
          error={fault('brand.logoUrl')} onChange={(event) => set({ logoUrl: event.currentTarget.value })} />
        <ColorInput {...colour('primaryColor')} />
        <ColorInput {...colour('accentColor')} />
        <Textarea label={t('embedOrigins')} description={t('embedHint')} name="origins" value={form.origins} readOnly={!writes} autosize
          minRows={2} error={fault('embedOrigins')} onChange={(event) => set({ origins: event.currentTarget.value })} />
        <ProblemNote error={save.error} />
        {writes && <Button type="submit" loading={save.isPending} disabled={!changed} data-testid="save-brand">{common('save')}</Button>}
      </Stack>
    </form>
  );
}
