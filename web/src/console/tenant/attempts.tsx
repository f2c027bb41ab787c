import { Modal, Stack, Table, Text, Title } from '@mantine/core';

import type { WebhookDelivery } from '../../gen/api.js';
import { time } from '../lib/format.js';
import { useCommon } from '../messages/common.js';
import { useHooks } from '../messages/hooks.js';
import { BodyText } from './captures.js';

// The attempts of a delivery, the newest last, with the body that was sent and the last answer.
export function Attempts({ delivery, close }: { delivery: WebhookDelivery | null; close: () => void }) {
  const t = useHooks();
  const common = useCommon();
  return (
    <Modal opened={delivery !== null} onClose={close} size="lg" title={t('attemptsTitle', { event: delivery?.event ?? '' })} closeButtonProps={{ 'aria-label': common('close') }}>
      {delivery && (
        <Stack gap="xs" className="wrap">
          {delivery.log.length === 0 ? <Text size="sm" c="dimmed">{t('noAttempts')}</Text> : (
            <Table>
              <Table.Thead><Table.Tr><Table.Th>{t('at')}</Table.Th><Table.Th>{t('answer')}</Table.Th><Table.Th>{t('took')}</Table.Th></Table.Tr></Table.Thead>
              <Table.Tbody>
                {delivery.log.map(({ at, responseStatus, error, durationMs }, index) => (
                  <Table.Tr key={`${at}-${index}`}>
                    <Table.Td>{time(at)}</Table.Td>
                    <Table.Td>{[responseStatus, error].filter(Boolean).join(' · ') || '–'}</Table.Td>
                    <Table.Td>{t('milliseconds', { n: durationMs ?? '–' })}</Table.Td>
                  </Table.Tr>
                ))}
              </Table.Tbody>
            </Table>
          )}
          {delivery.nextAttemptAt && <Text size="sm">{t('nextAttempt', { at: time(delivery.nextAttemptAt) })}</Text>}
          {delivery.responseBody && <><Title order={3} size="h6">{t('response')}</Title><BodyText text={delivery.responseBody} label={t('response')} /></>}
          <Title order={3} size="h6">{t('payload')}</Title>
          <BodyText text={JSON.stringify(delivery.payload)} label={t('payload')} />
        </Stack>
      )}
    </Modal>
  );
}
