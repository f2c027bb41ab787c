import type { RestreamRoute } from '../../gen/api.js';
import { useRestream } from '../messages/restream.js';

type Texts = ReturnType<typeof useRestream>;
type Key = Parameters<Texts>[0];

// The server's reasons, of internal/media/restream/reasons.go and probe.go. The first pattern that matches counts.
const reasons: [RegExp, Key][] = [
  [/^the target refused the stream: (?<detail>.+)$/, 'whyRefused'],
  [/right after the stream began/, 'whyKey'],
  [/^the target doesn't take (?<has>.+): set the encoder to (?<wants>.+)$/, 'whyCodec'],
  [/^the target closed the connection/, 'whyClosed'],
  [/^the target doesn't answer/, 'whySilent'],
  [/^the target stopped receiving/, 'whySlow'],
  [/^the connection to the target broke/, 'whyBroke'],
  [/^the target sends more data/, 'whyFlood'],
  [/^the target accepted the stream/, 'whyAccepted'],
  [/^the test's time ended/, 'whyTime'],
  // Reasons of internal/outflow/outbound/describe.go, and of internal/streams/restream/wanted.go.
  [/the host name can't be resolved/, 'whyHost'],
  [/connection refused/, 'whyPort'],
  [/TLS: (?<detail>.+)$/, 'whyCertificate'],
  [/no (?:answer|connection|TLS handshake) within|answer within/, 'whySilent'],
  [/the connection was closed before an answer came whole/, 'whyClosed'],
  [/the connection failed/, 'whyBroke'],
  [/the address is private or reserved/, 'whyPrivate'],
  [/^the server can't read the target's address/, 'whyUnreadable'],
];
const unreachable = /^the target couldn't be reached for 10 minutes: (.+)$/;

// A reason of the server in the user's language; the reason itself if it is not known.
export function explain(t: Texts, reason: string): string {
  const last = unreachable.exec(reason)?.[1];
  if (last) return `${t('whyUnreachable')} ${explain(t, last)}`;
  for (const [pattern, key] of reasons) {
    const found = pattern.exec(reason);
    if (found) return t(key, found.groups);
  }
  return reason;
}

export const isOpen = ({ status }: RestreamRoute) => status === 'pending' || status === 'live';

// The state of a route in words, with the colour of a similar state.
export function stateOf(t: Texts, { status, health }: RestreamRoute, onAir: boolean): { of: string; label: string } {
  if (status === 'live') return health?.lostAt ? { of: 'RECONNECTING', label: t('reconnecting') } : { of: 'ACTIVE', label: t('live') };
  if (status === 'pending') return { of: 'PENDING', label: t(onAir ? 'connecting' : 'pending') };
  return { of: status.toUpperCase(), label: t(status) };
}
