import type { AdminPlan, AdminPlanPatch, PlanAllowance, PlanLimits, PlanOverage, UsageMeter } from '../../gen/api.js';
import { countsBytes, digitsOf, unitsOf } from '../lib/format.js';
import { meters } from '../lib/meters.js';
import { fieldErrors } from '../lib/problem.js';

// The values of a plan's inputs by their names, such as limits.maxUsers and PUSHES.included. Amounts are in the unit of their label, and
// an empty text is null or absent.
export type PlanValues = Record<string, string | number>;

const mebibyte = 1_048_576;
const gigabyte = 1e9;

interface Limit { key: keyof PlanLimits; unit: number; least?: number }

// The limits, with the size of the unit in which they are shown. least is in this unit: the server names its bounds in bytes.
export const limits: readonly Limit[] = [
  { key: 'maxUsers', unit: 1 }, { key: 'maxApiKeys', unit: 1 }, { key: 'maxLiveStreams', unit: 1 }, { key: 'maxViewers', unit: 1 },
  { key: 'maxSessionCapacity', unit: 1 }, { key: 'maxRestreamTargets', unit: 1 }, { key: 'recordingRetentionDays', unit: 1 },
  { key: 'maxWebhookEndpoints', unit: 1 }, { key: 'maxProcessorCalls', unit: 1 }, { key: 'maxCaptureBytes', unit: mebibyte, least: 4 },
  { key: 'maxWrittenBytes', unit: mebibyte, least: 8 },
];

export const overages = ['BLOCK', 'ALLOW', 'CHARGE'] as const satisfies readonly PlanOverage[];

export const unitOf = (meter: UsageMeter) => (countsBytes(meter) ? gigabyte : 1);

// An amount in a larger unit, with six decimals for MiB and all of them for GB.
export const amountIn = (n: number, unit: number) => (unit === mebibyte ? Number((n / unit).toFixed(6)) : n / unit);

const shown = (n: number | null | undefined, unit: number) => (n == null ? '' : amountIn(n, unit));

const read = (value: string | number | undefined, unit: number) => (value === undefined || value === '' ? null : Math.round(Number(value) * unit));

export function valuesOf(of: AdminPlan): PlanValues {
  const price = (cents: number | null | undefined) => (cents == null ? '' : unitsOf(cents, of.currency));
  const values: PlanValues = {
    name: of.name, description: of.description, priceCents: price(of.priceCents), yearlyPriceCents: price(of.yearlyPriceCents),
    trialDays: of.trialDays,
  };
  for (const { key, unit } of limits) values[`limits.${key}`] = shown(of.limits[key], unit);
  for (const meter of meters) {
    const allowance = of.allowances.find((one) => one.meter === meter);
    values[`${meter}.included`] = shown(allowance?.included, unitOf(meter));
    values[`${meter}.overage`] = allowance?.overage ?? 'ALLOW';
    values[`${meter}.overagePriceCents`] = price(allowance?.overagePriceCents);
    values[`${meter}.overageUnits`] = shown(allowance?.overageUnits, unitOf(meter));
  }
  return values;
}

// The request that changes what was typed over the plan that the admin saw. Limits and allowances are replaced as a whole, so those
// that were not typed are the ones that the admin saw.
export function patchOf(typed: PlanValues, seen: AdminPlan): AdminPlanPatch {
  const cents = 10 ** digitsOf(seen.currency);
  const patch: AdminPlanPatch = {};
  for (const key of ['name', 'description', 'reason'] as const) if (key in typed) patch[key] = String(typed[key]);
  // The server refuses null, which an empty input gives, with the name of the field.
  if ('priceCents' in typed) patch.priceCents = read(typed.priceCents, cents) as number;
  if ('trialDays' in typed) patch.trialDays = read(typed.trialDays, 1) as number;
  if ('yearlyPriceCents' in typed) patch.yearlyPriceCents = read(typed.yearlyPriceCents, cents);
  const newLimits = limits.filter(({ key }) => `limits.${key}` in typed);
  if (newLimits.length > 0) {
    patch.limits = { ...seen.limits, ...Object.fromEntries(newLimits.map(({ key, unit }) => [key, read(typed[`limits.${key}`], unit)])) };
  }
  if (Object.keys(typed).some((name) => meters.some((meter) => name.startsWith(`${meter}.`)))) {
    patch.allowances = allowancesOf({ ...valuesOf(seen), ...typed }, cents);
  }
  return patch;
}

function allowancesOf(values: PlanValues, cents: number): PlanAllowance[] {
  return meters.flatMap((meter) => {
    const included = read(values[`${meter}.included`], unitOf(meter));
    if (included === null) return [];
    const overage = values[`${meter}.overage`] as PlanOverage;
    const price = read(values[`${meter}.overagePriceCents`], cents);
    const units = read(values[`${meter}.overageUnits`], unitOf(meter));
    return [{
      meter, included, overage,
      ...(overage === 'CHARGE' && price !== null && { overagePriceCents: price }),
      ...(overage === 'CHARGE' && units !== null && { overageUnits: units }),
    }];
  });
}

// The faults of a problem by the input's name. sent are the meters of the refused request, by whose place the server names allowances:
// allowances.0.included, or allowances[0].overageUnits.
export function faultsOf(error: unknown, sent: UsageMeter[]): Record<string, string> {
  return Object.fromEntries(Object.entries(fieldErrors(error)).map(([field, text]) => {
    const [, place, part = 'included'] = /^allowances[.[](\d+)\]?(?:\.(\w+))?$/.exec(field) ?? [];
    return [place === undefined ? field : `${sent[Number(place)]}.${part}`, text];
  }));
}
