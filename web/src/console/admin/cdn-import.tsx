import { Button, Code, FileInput, Modal, Progress, ScrollArea, Stack, Table, Text, TextInput, Title } from '@mantine/core';
import { useMemo, useRef, useState } from 'react';

import { decodeText } from '../lib/csv-read.js';
import { download, toCsv } from '../lib/csv.js';
import { bytes, number, time } from '../lib/format.js';
import { fieldErrors, ProblemNote } from '../lib/problem.js';
import { useAdminImport } from '../messages/admin-import.js';
import { useCommon } from '../messages/common.js';
import { fields, FileFault, previewOf, readLog, type LogFile, type Refusal } from './cdn-rows.js';
import { useCdnImport } from './cdn-run.js';
import { Facts } from './shown.js';

// A browser reads a file as a whole.
const maxFile = 50_000_000;
const shownRefusals = 200;

export function CdnImportButton() {
  const t = useAdminImport();
  const common = useCommon();
  const [open, setOpen] = useState(false);
  return (
    <>
      <Button size="xs" onClick={() => setOpen(true)} data-testid="import-log">{t('importLog')}</Button>
      <Modal opened={open} onClose={() => setOpen(false)} size="lg" title={t('title')} closeOnClickOutside={false}
        closeButtonProps={{ 'aria-label': common('close') }}>
        <ImportForm close={() => setOpen(false)} />
      </Modal>
    </>
  );
}

function ImportForm({ close }: { close: () => void }) {
  const t = useAdminImport();
  const common = useCommon();
  const [source, setSource] = useState('');
  const [chosen, setChosen] = useState<File | null>(null);
  const [log, setLog] = useState<LogFile | null>(null);
  const [fault, setFault] = useState('');
  const work = useCdnImport();
  const newest = useRef<File | null>(null);
  const choose = async (file: File | null) => {
    newest.current = file;
    setChosen(file);
    setLog(null);
    setFault('');
    work.load([]);
    if (!file) return;
    if (file.size > maxFile) {
      setFault(t('tooLarge', { size: bytes(maxFile) }));
      return;
    }
    try {
      const content = await file.arrayBuffer();
      if (newest.current !== file) return; // another one was chosen meanwhile
      const read = readLog(decodeText(content));
      setLog(read);
      if (read.source) setSource(read.source);
      work.load(read.rows);
    } catch (error) {
      if (newest.current === file) setFault(error instanceof FileFault ? t(error.key, error.values) : String(error));
    }
  };
  const sent = work.result?.received ?? 0;
  const total = log?.rows.length ?? 0;
  const { left } = work;
  const finished = log !== null && left === 0 && !work.busy;
  return (
    <form onSubmit={(event) => { event.preventDefault(); void work.run(source); }}>
      <Stack>
        <Text size="sm">{t('text')}</Text>
        <Text size="sm" c="dimmed">{t('wholeFiles')}</Text>
        <TextInput label={t('source')} description={t('sourceHint')} name="source" required maxLength={40} pattern="[a-z0-9][a-z0-9\-]*"
          value={source} disabled={work.busy || sent > 0} error={fieldErrors(work.failure?.error).source} data-autofocus
          onChange={(event) => setSource(event.currentTarget.value)} />
        <FileInput label={t('file')} placeholder={t('chooseFile')} value={chosen} disabled={work.busy} error={fault}
          accept=".csv,.json,.jsonl,.ndjson,.log,text/csv,application/json"
          fileInputProps={{ 'data-testid': 'log-file', 'aria-label': t('file') } as never} onChange={(next) => void choose(next)}
          description={<>{t('fileHint')} <Code>{fields.join(',')}</Code></>} />
        {log && sent === 0 && !work.busy && !work.failure && <ToCount log={log} />}
        {(work.busy || sent > 0) && (
          <>
            <Progress value={(100 * (total - left)) / Math.max(1, total)} animated={work.busy}
              aria-label={t('sending', { sent: number(sent), total: number(total) })} />
            <Text size="sm" role="status">{t('sending', { sent: number(sent), total: number(total) })}</Text>
          </>
        )}
        <ProblemNote error={work.failure?.error} />
        {work.failure && <Text size="sm">{t('notSent', { n: number(work.failure.batch) })}</Text>}
        {work.refused.length > 0 && <Refused of={work.refused} byLine={log?.byLine ?? true} />}
        {work.result && (
          <section aria-label={t('result')} data-testid="import-result">
            <Title order={3} size="h5">{t('result')}</Title>
            <Facts of={[
              [t('imported'), number(work.result.imported)], [t('countedBytes'), bytes(work.result.bytes)],
              [t('duplicates'), number(work.result.duplicates)], [t('unattributed'), number(work.result.unattributed)],
              [t('refusedCount'), number(work.refused.length)],
            ]} />
          </section>
        )}
        {finished ? <Button variant="default" onClick={close}>{common('close')}</Button> : (
          <Button type="submit" loading={work.busy} disabled={left === 0} data-testid="submit">
            {work.failure && work.refused.length > 0 ? t('goOn') : t('send', { n: number(left) })}
          </Button>
        )}
      </Stack>
    </form>
  );
}

function ToCount({ log }: { log: LogFile }) {
  const t = useAdminImport();
  const preview = useMemo(() => previewOf(log.rows), [log]);
  return (
    <section aria-label={t('toCount')}>
      <Title order={3} size="h5">{t('toCount')}</Title>
      <Facts of={[
        [t('rows'), number(preview.rows)], [t('bytes'), bytes(preview.bytes)],
        [t('times'), preview.first ? t('between', { from: time(preview.first), to: time(preview.last) }) : null],
        [t('failed'), t('failedNote', { n: number(preview.failed) })], [t('elsewhere'), t('failedNote', { n: number(preview.elsewhere) })],
      ]} />
    </section>
  );
}

function Refused({ of, byLine }: { of: Refusal[]; byLine: boolean }) {
  const t = useAdminImport();
  const place = t(byLine ? 'line' : 'row');
  return (
    <section aria-label={t('refused')}>
      <Title order={3} size="h5" mb="xs">{t('refused')}</Title>
      <ScrollArea.Autosize mah={260} viewportProps={{ tabIndex: 0, role: 'group', 'aria-label': t('refused') }}>
        <Table striped className="wrap">
          <Table.Thead>
            <Table.Tr><Table.Th>{place}</Table.Th><Table.Th>requestId</Table.Th><Table.Th>{t('message')}</Table.Th></Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {of.slice(0, shownRefusals).map(({ of: { place: at, row }, message }) => (
              <Table.Tr key={at}>
                <Table.Td>{at}</Table.Td><Table.Td>{String(row.requestId ?? '–')}</Table.Td>
                <Table.Td c="var(--mantine-color-error)">{message}</Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </ScrollArea.Autosize>
      <Button mt="xs" size="xs" variant="default" onClick={() => download('refused.csv', toCsv([
        { title: place, value: (row) => row.of.place },
        ...fields.map((field) => ({ title: field, value: (row: Refusal) => row.of.row[field] })),
        { title: t('message'), value: (row) => row.message },
      ], of))}>{t('exportRefused')}</Button>
    </section>
  );
}
