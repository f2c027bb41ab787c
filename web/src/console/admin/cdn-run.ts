import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useMemo, useRef, useState } from 'react';

import type { CdnLogImportResult } from '../../gen/api.js';
import { client, unwrap } from '../lib/api.js';
import { notify } from '../lib/parts.js';
import { useAdminImport } from '../messages/admin-import.js';
import { useCommon } from '../messages/common.js';
import { nextBatch, refusals, type LogRow, type Refusal } from './cdn-rows.js';

interface Failure { error: unknown; batch: number }

const nothing: CdnLogImportResult = { received: 0, imported: 0, duplicates: 0, unattributed: 0, bytes: 0 };

const added = (a: CdnLogImportResult, b: CdnLogImportResult): CdnLogImportResult => ({
  received: a.received + b.received, imported: a.imported + b.imported, duplicates: a.duplicates + b.duplicates,
  unattributed: a.unattributed + b.unattributed, bytes: a.bytes + b.bytes,
});

// The import of a file's rows. It stops at a request that the server refuses, and run then goes on without the rows that were refused.
// It also stops when its dialog is closed, after the request that is on its way.
export function useCdnImport() {
  const t = useAdminImport();
  const common = useCommon();
  const queries = useQueryClient();
  const [rest, setRest] = useState<LogRow[]>([]);
  const [refused, setRefused] = useState<Refusal[]>([]);
  const [result, setResult] = useState<CdnLogImportResult | null>(null);
  const [failure, setFailure] = useState<Failure | null>(null);
  const [busy, setBusy] = useState(false);
  const running = useRef<AbortController>(null);
  useEffect(() => () => running.current?.abort(), []);
  // The rows to be sent: without those that the server refused.
  const open = useMemo(() => {
    const without = new Set(refused.map(({ of }) => of));
    return rest.filter((row) => !without.has(row));
  }, [rest, refused]);
  const load = (rows: LogRow[]) => {
    setRest(rows);
    setRefused([]);
    setResult(null);
    setFailure(null);
  };
  const run = async (source: string) => {
    const { signal } = running.current = new AbortController();
    let rows = open;
    let done = result ?? nothing;
    let batch: LogRow[] = [];
    const total = done.received + rows.length;
    setRest(rows);
    setFailure(null);
    setBusy(true);
    try {
      while (rows.length > 0 && !signal.aborted) {
        batch = nextBatch(rows);
        done = added(done, await unwrap(client.POST('/v1/admin/bandwidth/import-cdn-logs', {
          body: { source, rows: batch.map(({ row }) => row) },
        })));
        rows = rows.slice(batch.length);
        setRest(rows);
        setResult(done);
      }
    } catch (error) {
      setFailure({ error, batch: batch.length });
      setRefused((before) => [...before, ...refusals(error, batch)]);
    } finally {
      setBusy(false);
      if (signal.aborted && rows.length > 0) notify(t('stopped', { sent: done.received, total }), common('close'));
      if (done.received > 0) void queries.invalidateQueries({ queryKey: ['get', '/v1/admin/bandwidth/overview'] });
    }
  };
  return { load, run, left: open.length, refused, result, failure, busy };
}
