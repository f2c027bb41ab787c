import type { ApiError } from '../shop/index.js';
import { t } from './texts/index.js';

/** Returns a refusal in the buyer's language. The server's own sentence is never shown. */
export function explain({ code, retryAfter }: ApiError, minimumBid = ''): string {
  switch (code) {
    case 'rate_limited':
      return t.problems.rate_limited(retryAfter);
    case 'bid_too_low':
      return t.problems.bid_too_low(minimumBid);
    case 'idempotency_in_progress':
      return t.problems.network;
    default:
      return plain(code) ?? t.problems.other;
  }
}

function plain(code: string): string | undefined {
  const text = Object.hasOwn(t.problems, code) ? t.problems[code as keyof typeof t.problems] : undefined;

  return typeof text === 'string' ? text : undefined;
}

/** Says why a discount code can't be used. */
export function codeProblem(reason: string): string {
  return Object.hasOwn(t.codes, reason) ? t.codes[reason as keyof typeof t.codes] : t.codes.other;
}

/** Says why a line of the cart can't be bought. */
export function lineProblem(problem: string, remaining: number): string {
  const text = Object.hasOwn(t.lineProblems, problem) ? t.lineProblems[problem as keyof typeof t.lineProblems] : t.lineProblems.other;

  return typeof text === 'string' ? text : text(remaining);
}
