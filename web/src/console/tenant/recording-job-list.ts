import type { Package, Recording, Transcode } from '../../gen/api.js';
import { client } from '../lib/api.js';
import { useCursorList } from '../lib/cursor.js';

const runningMs = 2000;
const idleMs = 30_000; // colleagues and programs start jobs, too

type Job = Transcode | Package;

export const isOver = ({ status }: Job) => status !== 'QUEUED' && status !== 'RUNNING';

// Time to the next reload: 2 s while a job is queued or running, else 30 s.
const everyMs = (jobs: Job[]) => (jobs.every(isOver) ? idleMs : runningMs);

// The transcodes and packages of a recording, newest first.
export function useJobs({ id }: Recording) {
  const request = (query: { limit: number; cursor?: string }, signal: AbortSignal) => ({ params: { path: { id }, query }, signal });
  const transcodes = useCursorList<Transcode>(['transcodes', id], (query, signal) => (
    client.GET('/v1/me/recordings/{id}/transcodes', request(query, signal))
  ), everyMs);
  const packages = useCursorList<Package>(['packages', id], (query, signal) => (
    client.GET('/v1/me/recordings/{id}/packages', request(query, signal))
  ), everyMs);
  const lists = [transcodes, packages];
  return {
    transcodes: transcodes.rows ?? [], packages: packages.rows ?? [],
    loading: lists.some(({ isLoading }) => isLoading), error: transcodes.error ?? packages.error,
    // The list whose next page is loaded first: that of the transcodes, then that of the packages.
    next: lists.find(({ hasNextPage }) => hasNextPage),
  };
}
