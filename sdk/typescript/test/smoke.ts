/**
 * Calls the API of a running server through the client. If a check fails, it exits
 * with 1 and a message.
 *
 *     node dist/test/smoke.js <base URL> [<path of a GET operation that is not built>]
 */
import { createShowfloor, ProblemError, unwrap, type EventOf, type Problem, type Stream } from '../src/index.js';

declare const process: { argv: string[] }; // a global of Node, whose types aren't installed

function must(met: boolean, what: string): asserts met {
  if (!met) throw new Error(what);
}

const [baseUrl, unbuilt] = process.argv.slice(2);
must(baseUrl !== undefined, 'usage: smoke.js <base URL> [<path>]');

const anyone = createShowfloor({ baseUrl });
const { data: login, error: notRegistered } = await anyone.POST('/v1/auth/register', {
  body: { tenantName: 'Acme Live', name: 'Ada', email: `ada-${Date.now()}-ts@acme.example`, password: 'correct horse battery' },
});
must(login !== undefined, `register: ${notRegistered?.message}`);

const api = createShowfloor({ baseUrl, token: () => login.token });
const { data: made, error: notMade } = await api.POST('/v1/me/streams', { body: { name: 'Launch' } });
must(made !== undefined, `create a stream: ${notMade?.message}`);

const { data: list = [] } = await api.GET('/v1/me/streams', { params: { query: { limit: 10 } } });
const listed: Stream | undefined = list.find((s) => s.id === made.id);
must(listed?.mode === 'LOW_LATENCY' && listed.status === 'IDLE', 'the stream is listed');

const { error: missing, response } = await api.GET('/v1/me/streams/{id}', { params: { path: { id: 'str_none' } } });
must(missing !== undefined && response.status === 404, 'a stream that is not there is a problem');
const problem: Problem = missing;
must(problem.code === 'not_found' && problem.status === 404 && problem.requestId !== '', `not_found, not ${problem.code}`);

const found: Stream = await unwrap(api.GET('/v1/me/streams/{id}', { params: { path: { id: made.id } } }));
must(found.id === made.id, 'unwrap returns the data');
const thrown = await unwrap(api.GET('/v1/me/streams/{id}', { params: { path: { id: 'str_none' } } })).catch((error: unknown) => error);
must(thrown instanceof ProblemError && thrown.problem.code === 'not_found', 'unwrap throws the problem');
must(thrown.message === 'not_found: stream not found', `the error says what is wrong, not ${thrown.message}`);
const behindProxy = createShowfloor({ baseUrl, fetch: async () => new Response('<h1>Bad Gateway</h1>', { status: 502 }) });
const foreign = await unwrap(behindProxy.GET('/v1/me')).catch((error: unknown) => error);
must(foreign instanceof Error && !(foreign instanceof ProblemError) && foreign.message.includes('502'), "unwrap throws a proxy's error");

const { error: refused } = await anyone.GET('/v1/me');
must(refused?.code === 'unauthenticated', 'a call without a token is refused');

if (unbuilt !== undefined) {
  // The cast gives the types of another path, since the operations that aren't built change over time.
  const { error: later } = await api.GET(unbuilt as '/v1/me');
  must(later?.status === 501 && later.code === 'not_implemented', `${unbuilt} is not built, and says so`);
}

// Receivers of webhooks need this type: the event's name decides the type of its data.
const started: EventOf<'stream.started'> = {
  event: 'stream.started',
  tenantId: login.tenant.id,
  occurredAt: made.createdAt,
  data: { streamId: made.id, name: made.name, mode: made.mode, projectId: null, metadata: {}, startedAt: made.createdAt },
};
must(started.data.streamId === made.id, 'events are typed');

console.log('all is well');
