import { Button, CloseButton, FileButton, Group, Loader, Paper, Stack, Text } from '@mantine/core';
import { useRef, useState } from 'react';

import type { TicketAttachment } from '../../gen/api.js';
import { useAttachments } from '../messages/attachments.js';
import { asProblem } from './api.js';
import { saveFile } from './csv.js';
import { bytes } from './format.js';
import { problemText } from './problem-text.js';

const maxFiles = 10;
const maxBytes = 10 * 1024 * 1024;

interface Chosen { key: number; file: File; attachment?: TicketAttachment; fault?: string }

// The files of a message that is being written. They are uploaded as soon as they are chosen.
export function useChosenFiles(upload: (file: File) => Promise<TicketAttachment>) {
  const t = useAttachments();
  const [files, setFiles] = useState<Chosen[]>([]);
  const next = useRef(0);
  // The last upload. One follows the other: together they would take too long on a slow line.
  const running = useRef<Promise<unknown>>(Promise.resolve());
  const [left, setLeft] = useState(0);
  const change = (key: number, to: Partial<Chosen>) => setFiles((list) => list.map((chosen) => (chosen.key === key ? { ...chosen, ...to } : chosen)));
  const add = (added: File[]) => {
    const room = maxFiles - files.length;
    setLeft(Math.max(0, added.length - room));
    for (const file of added.slice(0, room)) {
      const key = next.current;
      next.current += 1;
      const fault = file.size === 0 ? t('empty') : file.size > maxBytes ? t('tooLarge') : undefined;
      setFiles((list) => [...list, { key, file, ...(fault && { fault }) }]);
      if (fault) continue;
      running.current = running.current.then(() => upload(file)).then((attachment) => change(key, { attachment }), (error: unknown) => {
        const { text, detail } = problemText(asProblem(error));
        change(key, { fault: [text || t('network'), detail].filter(Boolean).join(' ') });
      });
    }
  };
  return {
    files, add,
    // The number of files that were not added, because there were too many.
    left,
    remove: (key: number) => setFiles((list) => list.filter((chosen) => chosen.key !== key)),
    clear: () => setFiles([]),
    // True until each file is uploaded or has failed. A message without its files would be a surprise, so a failed one must be removed first.
    blocks: files.some(({ attachment }) => !attachment),
    ids: files.flatMap(({ attachment }) => (attachment ? [attachment.id] : [])),
  };
}

export function FilePicker({ chosen }: { chosen: ReturnType<typeof useChosenFiles> }) {
  const t = useAttachments();
  const reset = useRef<() => void>(null);
  return (
    <Stack gap="xs">
      <Group gap="xs">
        <FileButton multiple resetRef={reset} inputProps={{ 'aria-label': t('attach') }} disabled={chosen.files.length >= maxFiles}
          onChange={(files) => { chosen.add(files); reset.current?.(); }}>
          {(props) => <Button {...props} size="xs" variant="default">{t('attach')}</Button>}
        </FileButton>
        <Text size="xs" c="dimmed">{t('limits')}</Text>
      </Group>
      {chosen.left > 0 && <Text size="xs" role="alert">{t('left', { n: String(chosen.left) })}</Text>}
      {chosen.files.map(({ key, file, attachment, fault }) => (
        <Paper key={key} withBorder px="sm" py={4}>
          <Group gap="xs" wrap="nowrap" justify="space-between">
            <div className="prose">
              <Text size="sm">{file.name} <Text span size="xs" c="dimmed">{bytes(file.size)}</Text></Text>
              {fault && <Text size="xs" role="alert">{fault} {t('removeIt')}</Text>}
            </div>
            <Group gap="xs" wrap="nowrap">
              {!attachment && !fault && <Loader size="xs" aria-label={t('uploading')} role="status" />}
              <CloseButton size="sm" aria-label={t('remove', { name: file.name })} onClick={() => chosen.remove(key)} />
            </Group>
          </Group>
        </Paper>
      ))}
    </Stack>
  );
}

// The files of a message. A click saves one: nothing that others sent is shown as a page. Without load, only their names are shown.
export function AttachmentList({ of, load }: { of: TicketAttachment[]; load?: ((id: string) => Promise<Blob>) | undefined }) {
  const t = useAttachments();
  const [fault, setFault] = useState('');
  if (of.length === 0) return null;
  const text = ({ name, sizeBytes }: TicketAttachment) => `${name} · ${bytes(sizeBytes)}`;
  if (!load) return <Text size="xs" c="dimmed" mt="xs" className="wrap">{of.map(text).join(', ')}</Text>;
  const save = ({ id, name }: TicketAttachment) => {
    load(id).then((file) => { setFault(''); saveFile(name, file); }, (error: unknown) => {
      setFault(problemText(asProblem(error)).text || t('network'));
    });
  };
  return (
    <Group gap="xs" mt="xs">
      {of.map((attachment) => (
        <Button key={attachment.id} size="compact-xs" variant="default" maw="100%" onClick={() => save(attachment)}
          title={t('save', { name: attachment.name })}>
          {text(attachment)}
        </Button>
      ))}
      {fault && <Text size="xs" role="alert">{fault}</Text>}
    </Group>
  );
}

// Options of openapi-fetch that send a file unchanged.
export const asFile = (file: File) => ({
  body: file as unknown as string, bodySerializer: (body: string) => body, headers: { 'Content-Type': 'application/octet-stream' },
});
