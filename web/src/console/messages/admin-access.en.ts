export const adminAccessEn = {
  apps: 'Own apps', appsText: 'The platform’s own applications: tenants without users, on the plan Enterprise, never billed.',
  appsEmpty: 'There are no apps yet. Create one to use the API as the platform itself.', newApp: 'New app', description: 'Description',
  keyCount: 'Valid keys', lastUsed: 'Last used', keys: 'API keys', newKey: 'New key',
  noKeys: 'The app has no keys.', key: 'Key', keyShown: 'Copy the key now',
  keyText: 'It is shown only once. Keep it where your server keeps its secrets.', revoke: 'Revoke',
  revokeText: 'Calls with this key, and with keys that were created with it, are refused at once.', apiCalls: 'API calls, 30 days',
  streams: 'Streams', onAir: '{n} on air', minutesLive: 'Minutes on air, 30 days', minutesWatched: 'Minutes watched, 30 days',
  webhooks: 'Webhooks', endpoint: 'Endpoint', security: 'My security',
  factorOff: 'Your login needs only the password. Set up a second factor: an admin’s account reaches all tenants.',
};
