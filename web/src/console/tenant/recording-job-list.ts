import { useQueries, useQuery, useQueryClient } from '@tanstack/react-query';

import type { Package, Recording, TenantAuditEntry, Transcode } from '../../gen/api.js';
import { client, unwrap } from '../lib/api.js';
import { useListState } from '../lib/table.js';
import { useIdentity, useMay } from './identity.js';

const runningMs = 2000;
const renewMs = 45 * 60_000; // links of finished jobs are valid for an hour

// The address has the ids of this many jobs at most, and the audit log is read this far.
const mostKept = 50;
const mostAudited = 200;

const isOver = (status: string | undefined) => status !== 'QUEUED' && status !== 'RUNNING';

type Job = Transcode | Package;
const interval = ({ state: { data } }: { state: { data?: Job } }) => (isOver(data?.status) ? renewMs : runningMs);

// The transcodes and packages of a recording. The API gets them by id, and has no list of them. The ids of those that were started on this
// page are in its address. Users who may read the audit log find the other ones in it.
export function useJobs(recording: Recording) {
  const [state, change] = useListState();
  const queries = useQueryClient();
  const audited = useAuditedJobs(recording);
  const kept = (state.jobs ?? '').split(',').filter(Boolean).slice(-mostKept);
  const known = [...new Set([...kept, ...(audited.data?.ids ?? [])])];
  const packages = useQueries({ queries: known.filter((id) => id.startsWith('pkg_')).map((id) => ({
    queryKey: ['package', id], refetchInterval: interval,
    queryFn: () => unwrap(client.GET('/v1/me/packages/{id}', { params: { path: { id } } })),
  })) });
  const sources = packages.flatMap(({ data }) => (data ? [data.transcodeId] : []));
  const transcodeIDs = [...new Set([...known.filter((id) => id.startsWith('tc_')), ...sources])];
  const transcodes = useQueries({ queries: transcodeIDs.map((id) => ({
    queryKey: ['transcode', id], refetchInterval: interval,
    queryFn: () => unwrap(client.GET('/v1/me/transcodes/{id}', { params: { path: { id } } })),
  })) });
  const newestFirst = <J extends Job>(list: { data?: J }[]) => (
    list.flatMap(({ data }) => (data?.recordingId === recording.id ? [data] : []))
      .toSorted((a, b) => b.createdAt.localeCompare(a.createdAt))
  );
  return {
    transcodes: newestFirst<Transcode>(transcodes), packages: newestFirst<Package>(packages),
    loading: audited.isLoading || [...transcodes, ...packages].some(({ isLoading }) => isLoading),
    error: [...transcodes, ...packages].find(({ error }) => error)?.error ?? audited.error,
    // Whether all jobs that were started elsewhere are known.
    listed: audited.data?.all ?? false,
    add: (job: Job) => {
      queries.setQueryData([job.id.startsWith('pkg_') ? 'package' : 'transcode', job.id], job);
      change({ jobs: [...kept, job.id].join(',') });
    },
  };
}

const after = (entry: TenantAuditEntry, key: string) => entry.after?.[key];

// The ids of the jobs that the audit log has, for users who may read it.
function useAuditedJobs({ id, createdAt }: Recording) {
  const may = useMay();
  const { user } = useIdentity();
  const read = (action: string, signal: AbortSignal) => unwrap(client.GET('/v1/me/audit', {
    params: { query: { action, from: createdAt, limit: mostAudited } }, signal,
  }));
  const allowed = user !== null && may('tenant:write');
  const query = useQuery({
    queryKey: ['audited-jobs', id], enabled: allowed, staleTime: 60_000,
    queryFn: async ({ signal }) => {
      const [transcodes, packages] = await Promise.all([read('transcode.create', signal), read('package.create', signal)]);
      const made = transcodes.filter((entry) => after(entry, 'recordingId') === id).map(({ entityId }) => entityId);
      const packed = packages.filter((entry) => made.includes(String(after(entry, 'transcodeId')))).map(({ entityId }) => entityId);
      return { ids: [...made, ...packed], all: Math.max(transcodes.length, packages.length) < mostAudited };
    },
  });
  return query;
}
