import { Button, Group, Paper, Progress, Skeleton, Stack, Text, Title } from '@mantine/core';
import { useState, type ReactNode } from 'react';

import type { Package, Recording, Transcode } from '../../gen/api.js';
import { client, unwrap } from '../lib/api.js';
import { bytes, number, percent, time } from '../lib/format.js';
import { MoreButton } from '../lib/more.js';
import { Section, Status, useChange, useConfirm } from '../lib/parts.js';
import { CopyText, ProblemNote } from '../lib/problem.js';
import { useRecordings } from '../messages/recordings.js';
import { useMay } from './identity.js';
import { SaveLink } from './recording-files.js';
import { isOver, useJobs } from './recording-job-list.js';
import { PackageForm } from './recording-package-form.js';
import { TranscodeForm } from './recording-transcode-form.js';

export function RecordingTranscodes({ recording }: { recording: Recording }) {
  const t = useRecordings();
  const writes = useMay()('recordings:write');
  const jobs = useJobs(recording);
  const [adding, setAdding] = useState(false);
  const [source, setSource] = useState<Transcode | null>(null);
  const start = writes && recording.status === 'READY' && (
    <Button size="xs" variant="default" onClick={() => setAdding(true)} data-testid="new-transcode">{t('newTranscode')}</Button>
  );
  return (
    <Section title={t('transcodes')} aside={start}>
      <Stack gap="sm">
        <Text size="sm" c="dimmed">{t('transcodesText')}</Text>
        <ProblemNote error={jobs.error} />
        {jobs.transcodes.length === 0 && (jobs.loading ? <Skeleton height={60} /> : <Text size="sm">{t('noTranscodes')}</Text>)}
        {jobs.transcodes.map((job) => (
          <Paper key={job.id} withBorder p="sm" data-testid="transcode">
            <TranscodeJob job={job} writes={writes} makePackage={() => setSource(job)} />
            {jobs.packages.filter(({ transcodeId }) => transcodeId === job.id).map((made) => (
              <Paper key={made.id} withBorder p="sm" mt="sm" data-testid="package"><PackageJob job={made} writes={writes} /></Paper>
            ))}
          </Paper>
        ))}
        {jobs.next && <Group><MoreButton list={jobs.next} /></Group>}
      </Stack>
      {adding && <TranscodeForm recordingID={recording.id} close={() => setAdding(false)} />}
      {source && <PackageForm recordingID={recording.id} transcodeID={source.id} close={() => setSource(null)} />}
    </Section>
  );
}

function TranscodeJob({ job, writes, makePackage }: { job: Transcode; writes: boolean; makePackage: () => void }) {
  const t = useRecordings();
  const title = `${t(`container${job.container}`)}: ${job.renditions.map(({ name }) => name).join(', ')}`;
  const cancel = () => unwrap(client.POST('/v1/me/transcodes/{id}/cancel', { params: { path: { id: job.id } } }));
  const packable = writes && job.status === 'COMPLETED' && job.container === 'MP4' && job.outputs.length > 0;
  const extension = job.container === 'MP4' ? 'mp4' : 'ts';
  return (
    <JobView job={job} title={title} writes={writes} cancel={cancel} until={job.outputs[0]?.urlExpiresAt}
      action={packable && <Button size="compact-xs" variant="default" onClick={makePackage}>{t('makePackage')}</Button>}>
      {job.outputs.map(({ name, url, width, height, videoCodec, videoKbps, sizeBytes }) => (
        <Group key={name} gap="xs" justify="space-between">
          <Text size="sm">
            <b>{name}</b> {t('fileOf', { width, height, codec: videoCodec, kbps: number(videoKbps) })} · {bytes(sizeBytes)}
          </Text>
          <SaveLink url={url} name={`${name}.${extension}`} text={t('download', { name })} />
        </Group>
      ))}
    </JobView>
  );
}

function PackageJob({ job, writes }: { job: Package; writes: boolean }) {
  const t = useRecordings();
  const cancel = () => unwrap(client.POST('/v1/me/packages/{id}/cancel', { params: { path: { id: job.id } } }));
  return (
    <JobView job={job} title={t('packageOf', { formats: job.formats.join(', ') })} writes={writes} cancel={cancel}
      until={job.outputs[0]?.urlExpiresAt}>
      {job.outputs.map(({ format, url, sizeBytes }) => (
        <Group key={format} gap="xs" justify="space-between">
          <Text size="sm"><b>{format}</b> {bytes(sizeBytes)}</Text>
          <CopyText text={url} label={t('copyManifest', { format })} />
        </Group>
      ))}
    </JobView>
  );
}

interface JobViewProps {
  job: Transcode | Package;
  title: string;
  writes: boolean;
  cancel: () => Promise<unknown>;
  action?: ReactNode;
  // When the links expire; absent without files.
  until?: string;
  children: ReactNode;
}

function JobView({ job, title, writes, cancel, action, until, children }: JobViewProps) {
  const t = useRecordings();
  const confirm = useConfirm();
  const { recordingId, status, progress, error, createdAt, finishedAt } = job;
  const end = useChange(cancel, { done: t('canceled'), touches: [['transcodes', recordingId], ['packages', recordingId]] });
  const over = isOver(job);
  return (
    <Stack gap="xs">
      <Group justify="space-between" gap="xs">
        <Group gap="xs"><Title order={3} size="h6">{title}</Title><Status of={status} label={t(status)} /></Group>
        <Group gap="xs">
          {action}
          {writes && !over && (
            <Button size="compact-xs" variant="default" loading={end.isPending}
              onClick={() => confirm(t('cancelJob'), t('cancelText'), () => end.mutate(undefined))}>{t('cancelJob')}</Button>
          )}
        </Group>
      </Group>
      {!over && (
        <Group gap="xs" wrap="nowrap">
          <Progress value={progress} flex={1} animated={status === 'RUNNING'} aria-label={t('progressOf', { name: title })} />
          <Text size="sm" role="status">{percent(progress / 100)}</Text>
        </Group>
      )}
      {status === 'QUEUED' && <Text size="sm">{t('jobQueued')}</Text>}
      {error && <Text size="sm" c="var(--mantine-color-error)" className="prose">{t('jobFailed', { error })}</Text>}
      {children}
      {status === 'COMPLETED' && !until && <Text size="sm" c="dimmed">{t('noFiles')}</Text>}
      <Text size="xs" c="dimmed">
        {[t('jobStarted', { time: time(createdAt) }), finishedAt && t('jobFinished', { time: time(finishedAt) }),
          until && t('linksUntil', { time: time(until) })].filter(Boolean).join(' · ')}
      </Text>
    </Stack>
  );
}
