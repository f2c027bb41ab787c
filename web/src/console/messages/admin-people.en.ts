export const adminPeopleEn = {
  gone: 'This user does not exist or was deleted.', toUsers: 'To the users', remove: 'Delete',
  removeText: 'The user’s tokens are refused at once, and the e-mail address can be used again. API keys of the user stay '
    + 'valid. This can’t be undone.',
  removeInvited: 'The invitation is deleted, and its link stops working. This can’t be undone.',
  resetText: 'The old password stops working, and the user’s tokens are refused at once. The user gets a mail with a link, which is '
    + 'valid for an hour.',
  profile: 'User', id: 'Id', changed: 'Changed', actionsBy: 'Latest actions of the user', changesOf: 'Latest changes to the user',
  noActions: 'The audit log has no action of the user.', noChanges: 'The user was not changed.',
  all: 'All in the audit log',
  invited: 'The user has not accepted the invitation yet. It can only be deleted.',
  roles: 'Roles of admins', tenantRoles: 'Roles in tenants', may: 'May', area: 'Area', yes: 'Yes', reads: 'Read', changes: 'Change',
  readsAndChanges: 'Read and change', keyNote: 'Roles are fixed. An API key has the permissions of a developer, or fewer.',
  admin_read: 'Read everything', admin_write: 'Change tenants, users, streams and settings',
  admin_support: 'Work on tickets', admin_billing: 'Change plans, subscriptions and billing',
  account: 'Account and figures', tenant: 'Tenant’s settings and audit log', team: 'Team', streams: 'Streams', recordings: 'Recordings',
  chat: 'Chat', sessions: 'Sessions and calls', catalog: 'Catalog', commerce: 'Orders and payments', restream: 'Restreaming', push: 'Push',
  keys: 'API keys', webhooks: 'Webhooks and events', billing: 'Billing', support: 'Support tickets',
};
