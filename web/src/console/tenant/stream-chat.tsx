import { client, unwrap } from '../lib/api.js';
import { Chat } from './chat.js';

export function StreamChat({ id }: { id: string }) {
  return <Chat key={id} id={id} send={(body) => unwrap(client.POST('/v1/me/streams/{id}/chat', { params: { path: { id } }, body }))} />;
}
