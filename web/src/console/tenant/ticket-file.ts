import { client, unwrap } from '../lib/api.js';
import { asFile } from '../lib/attachments.js';

// Uploads a file for a message of the user.
export const uploadFile = (file: File) => (
  unwrap(client.POST('/v1/me/ticket-attachments', { params: { query: { name: file.name } }, ...asFile(file) }))
);
