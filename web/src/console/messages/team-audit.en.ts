export const teamAuditEn = {
  title: 'Audit log', action: 'Action', actor: 'Actor', entity: 'Kind of object', object: 'Object', at: 'Time', from: 'From', to: 'To', details: 'Details',
  noEntries: 'There are no entries. With filters, the next page may have some.', noValues: 'The entry has no values.',
  impersonated: 'An admin of the platform acted as this user.', ip: 'Address', request: 'Request', user: 'User', api_key: 'API key', participant: 'Participant',
  admin: 'Admin of the platform', system: 'System', actorHint: 'Id of a user or key',
};
