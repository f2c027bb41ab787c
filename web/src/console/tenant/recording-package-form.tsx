import { Checkbox, NumberInput, Stack, Text } from '@mantine/core';
import { useState } from 'react';

import type { PackageFormat } from '../../gen/api.js';
import { newActionKey } from '../lib/amount.js';
import { client, unwrap } from '../lib/api.js';
import { FormModal, useChange } from '../lib/parts.js';
import { fieldErrors } from '../lib/problem.js';
import { useRecordings } from '../messages/recordings.js';

const allFormats: PackageFormat[] = ['HLS', 'DASH'];

export function PackageForm({ recordingID, transcodeID, close }: { recordingID: string; transcodeID: string; close: () => void }) {
  const t = useRecordings();
  const [formats, setFormats] = useState<PackageFormat[]>(allFormats);
  const [segmentSec, setSegment] = useState<number | string>(6);
  const [checked, setChecked] = useState(false);
  const [actionKey, setActionKey] = useState(newActionKey);
  const make = useChange(() => unwrap(client.POST('/v1/me/transcodes/{id}/package', {
    params: { path: { id: transcodeID }, header: { 'Idempotency-Key': actionKey } },
    body: { formats, ...(typeof segmentSec === 'number' && { segmentSec }) },
  })), { shows: true, done: t('started'), touches: [['packages', recordingID]], after: close });
  const faults = fieldErrors(make.error);
  const needFormat = checked && formats.length === 0 ? t('needFormat') : undefined;
  const submit = () => {
    setChecked(true);
    if (formats.length > 0) make.mutate(undefined);
  };
  return (
    <FormModal title={t('packageTitle')} open close={close} submit={submit} busy={make.isPending} error={make.error} action={t('start')}>
      <Text size="sm">{t('packageText')}</Text>
      <Checkbox.Group label={t('formats')} value={formats} error={needFormat ?? faults.formats}
        onChange={(next) => { setFormats(next as PackageFormat[]); setActionKey(newActionKey()); }}>
        <Stack gap={4} mt={4}>{allFormats.map((format) => <Checkbox key={format} value={format} label={t(format)} />)}</Stack>
      </Checkbox.Group>
      <NumberInput label={t('segmentSec')} name="segmentSec" min={2} max={10} allowDecimal={false} value={segmentSec}
        error={faults.segmentSec} onChange={(next) => { setSegment(next); setActionKey(newActionKey()); }} />
    </FormModal>
  );
}
