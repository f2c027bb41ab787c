import { Button, FileInput, Modal, Progress, ScrollArea, Stack, Table, Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';

import type { Product, ProductInput } from '../../gen/api.js';
import { exampleAmount, parseCents, parseStock, parseWhole } from '../lib/amount.js';
import { asProblem, client, unwrap } from '../lib/api.js';
import { decodeText, readCsv } from '../lib/csv-read.js';
import { download, toCsv } from '../lib/csv.js';
import { nextCursor } from '../lib/cursor.js';
import { notify } from '../lib/parts.js';
import { ProblemNote } from '../lib/problem.js';
import { sellingDe } from '../messages/selling.de.js';
import { sellingEn } from '../messages/selling.en.js';
import { useCommon } from '../messages/common.js';
import { useSelling } from '../messages/selling.js';

interface Row { line: number; item: ProductInput; fault: string; done: boolean }
type Texts = ReturnType<typeof useSelling>;

// The server takes 500 products in one request.
const batch = 200;

const titles = (key: keyof typeof sellingEn, ...more: string[]) => [sellingEn[key], sellingDe[key], ...more].map((title) => title.toLowerCase());
const columns = {
  externalId: titles('sku', 'externalid'), name: ['name'], price: titles('price'), currency: titles('currency'), stock: titles('stock'),
  description: titles('description'), imageUrl: titles('imageUrl', 'imageurl'), lowStockAt: titles('lowStockAt', 'lowstockat'),
  compareAt: titles('compareAt', 'compareat'),
};

// The currencies of the catalog's products by SKU. A row without a currency keeps that of its product, in whose units its price is read.
async function knownCurrencies(): Promise<Map<string, string>> {
  const known = new Map<string, string>();
  let cursor: string | undefined;
  do {
    const { products, next } = await page(cursor);
    for (const { externalId, currency } of products) known.set(externalId, currency);
    cursor = next;
  } while (cursor);
  return known;
}

async function page(cursor?: string): Promise<{ products: Product[]; next?: string }> {
  const answering = client.GET('/v1/me/catalog/products', { params: { query: { limit: 500, ...(cursor && { cursor }) } } });
  const products = await unwrap(answering);
  return { products, next: nextCursor((await answering).response) };
}

async function rowsOf(text: string, t: Texts): Promise<{ rows: Row[]; fault: string }> {
  const [{ cells: head } = { cells: [] }, ...lines] = readCsv(text);
  const at = (names: string[]) => head.findIndex((title) => names.includes(title.toLowerCase()));
  const found = Object.fromEntries(Object.entries(columns).map(([key, names]) => [key, at(names)])) as Record<keyof typeof columns, number>;
  for (const [key, title] of [['externalId', t('sku')], ['name', 'Name'], ['price', t('price')]] as const) {
    if (found[key] < 0) return { rows: [], fault: t('noColumn', { name: title }) };
  }
  const known = lines.every(({ cells }) => cells[found.currency]) ? new Map<string, string>() : await knownCurrencies();
  const rows = lines.map(({ cells, line }) => rowOf((key) => cells[found[key]] ?? '', line, known, t));
  return { rows, fault: rows.length === 0 ? t('noRows') : '' };
}

function rowOf(cell: (key: keyof typeof columns) => string, line: number, known: Map<string, string>, t: Texts): Row {
  const currency = cell('currency') || known.get(cell('externalId')) || 'usd';
  const [price, compareAt] = [parseCents(cell('price'), currency), parseCents(cell('compareAt'), currency)];
  const [stock, low] = [parseStock(cell('stock')), parseWhole(cell('lowStockAt'))];
  const badPrice = t('badPrice', exampleAmount(currency));
  const faults = [
    !cell('externalId') && t('badSku'), !cell('name') && t('badName'), price === null && badPrice,
    cell('stock') && stock === null && t('badStock'), cell('lowStockAt') && low === null && t('badLowStock'),
    cell('compareAt') && compareAt === null && badPrice,
  ].filter(Boolean);
  const item: ProductInput = {
    externalId: cell('externalId'), name: cell('name'), priceCents: price ?? 0,
    ...(cell('currency') && { currency: cell('currency').toUpperCase() }), ...(stock !== null && { stock }), ...(low !== null && { lowStockAt: low }),
    ...(compareAt !== null && { compareAtCents: compareAt }), ...(cell('description') && { description: cell('description') }),
    ...(cell('imageUrl') && { imageUrl: cell('imageUrl') }),
  };
  return { line, item, fault: faults.join('. '), done: false };
}

// Sends rows in one request. If the server names invalid ones, these are marked, and the others are sent again.
async function send(rows: Row[], signal: AbortSignal): Promise<Row[]> {
  const valid = rows.filter(({ fault }) => !fault);
  if (valid.length === 0 || signal.aborted) return rows;
  try {
    await unwrap(client.POST('/v1/me/catalog/sync', { body: { items: valid.map(({ item }) => item) } }));
    return rows.map((row) => ({ ...row, done: !row.fault }));
  } catch (error) {
    const faults = new Map<Row, string>();
    for (const { field, message } of asProblem(error).errors ?? []) {
      const row = valid[Number(/^items\.(\d+)/.exec(field)?.[1] ?? NaN)];
      if (row) faults.set(row, [faults.get(row), `${field.replace(/^items\.\d+\./, '')}: ${message}`].filter(Boolean).join('. '));
    }
    if (faults.size === 0) throw error;
    return send(rows.map((row) => ({ ...row, fault: row.fault || (faults.get(row) ?? '') })), signal);
  }
}

export function CatalogImport({ close }: { close: () => void }) {
  const t = useSelling();
  const common = useCommon();
  const queries = useQueryClient();
  const [file, setFile] = useState<File | null>(null);
  const [rows, setRows] = useState<Row[]>([]);
  const [fault, setFault] = useState('');
  const [sent, setSent] = useState<number | null>(null);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const running = useRef<AbortController>(null);
  useEffect(() => () => running.current?.abort(), []);
  const choose = async (next: File | null) => {
    setFile(next);
    setSent(null);
    setError(null);
    setRows([]);
    setFault('');
    if (!next) return;
    setBusy(true);
    try {
      const read = await rowsOf(decodeText(await next.arrayBuffer()), t);
      setRows(read.rows);
      setFault(read.fault);
    } catch (failure) {
      setError(failure);
    } finally {
      setBusy(false);
    }
  };
  // An import whose dialog is closed stops after the request that is on its way, since that can't be taken back.
  const run = async () => {
    const { signal } = running.current = new AbortController();
    let imported = rows.filter(({ done }) => done).length;
    setBusy(true);
    setError(null);
    try {
      for (let from = sent ?? 0; from < rows.length && !signal.aborted; from += batch) {
        const part = await send(rows.slice(from, from + batch), signal);
        imported += part.filter(({ done }) => done).length;
        setRows((was) => was.map((row, index) => part[index - from] ?? row));
        setSent(Math.min(rows.length, from + batch));
      }
    } catch (failure) {
      setError(failure);
    } finally {
      setBusy(false);
      if (signal.aborted) notify(t('importStopped', { imported, total: rows.length }), common('close'));
      void queries.invalidateQueries();
    }
  };
  const finished = sent !== null && sent >= rows.length;
  const failed = rows.filter((row) => row.fault);
  const result = (row: Row) => row.fault || (row.done ? t('imported') : '–');
  return (
    <Modal opened onClose={close} size="lg" title={t('importTitle')} closeOnClickOutside={!busy} closeButtonProps={{ 'aria-label': common('close') }}>
      <Stack>
        <Text size="sm">{t('importText')}</Text>
        <FileInput label={t('file')} placeholder={t('chooseFile')} accept=".csv,text/csv" value={file} disabled={busy} error={fault}
          fileInputProps={{ 'data-testid': 'csv-file', 'aria-label': t('file') } as never} onChange={(next) => void choose(next)} />
        {sent !== null && <Progress value={(sent / Math.max(1, rows.length)) * 100} aria-label={t('importing', { done: sent, total: rows.length })} />}
        {sent !== null && (
          <Text size="sm" role="status">
            {finished ? t('importDone', { imported: rows.length - failed.length, failed: failed.length }) : t('importing', { done: sent, total: rows.length })}
          </Text>
        )}
        <ProblemNote error={error} />
        {rows.length > 0 && (
          <ScrollArea.Autosize mah={260} viewportProps={{ tabIndex: 0, role: 'group', 'aria-label': t('result') }}>
            <Table striped>
              <Table.Thead><Table.Tr><Table.Th>{t('row')}</Table.Th><Table.Th>{t('sku')}</Table.Th><Table.Th>{t('result')}</Table.Th></Table.Tr></Table.Thead>
              <Table.Tbody>
                {[...failed, ...rows.filter((row) => !row.fault)].slice(0, 200).map((row) => (
                  <Table.Tr key={row.line}>
                    <Table.Td>{row.line}</Table.Td><Table.Td>{row.item.externalId}</Table.Td>
                    <Table.Td c={row.fault ? 'var(--mantine-color-error)' : undefined}>{result(row)}</Table.Td>
                  </Table.Tr>
                ))}
              </Table.Tbody>
            </Table>
          </ScrollArea.Autosize>
        )}
        {finished
          ? <Button variant="default" onClick={() => download('import.csv', toCsv([
              { title: t('row'), value: (row) => row.line }, { title: t('sku'), value: (row) => row.item.externalId }, { title: t('result'), value: result },
            ], rows))}>{t('exportReport')}</Button>
          : <Button disabled={rows.length === 0} loading={busy} onClick={() => void run()} data-testid="import">{t('importRows', { count: rows.length })}</Button>}
      </Stack>
    </Modal>
  );
}
