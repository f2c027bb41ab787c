export const impersonationEn = {
  banner: 'An admin of the platform acts as {name}', left: '{minutes} min left', end: 'End the access', readOnly: 'Only reading is allowed.',
  limits: 'Secrets, new streams, calls, links to rooms, delivery addresses, tickets, the team and money are blocked.', admin: 'Admin',
  endText: 'Ending revokes the access. Without it, the access expires after at most 30 minutes.',
};
