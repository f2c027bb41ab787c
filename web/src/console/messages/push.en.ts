export const pushEn = {
  title: 'Push', project: 'Project', projectHint: 'Credentials and devices belong to a project. Your apps name it when they register a device.', ios: 'iOS (APNs)',
  cloud: 'Android and web (FCM)', configured: 'Complete', notConfigured: 'Not set up', on: 'On', off: 'Off', bundle: 'Bundle id', production: 'Production', sandbox: 'Sandbox',
  change: 'Set', iosTitle: 'Credentials for iOS', cloudTitle: 'Credentials for Android and web', keyId: 'Key id', teamId: 'Team id', privateKey: 'Signing key (.p8 file)',
  keptSecret: 'Empty: the stored one stays. It is never shown.', account: 'Service account (JSON file)', badAccount: 'This isn’t a JSON object.', enabled: 'Send pushes',
  setDone: 'The credentials are stored', test: 'Test a device', testText: 'Sends a test message to one registered device.', token: 'Device token', testAction: 'Send the test',
  send: 'Send a notification', sendAction: 'Send', users: 'User ids', usersHint: 'One a line, 5,000 at most', subject: 'Title', body: 'Text', preview: 'Preview', now: 'now',
  confirmText: 'The notification is sent to all devices of {n} users at once. It can’t be taken back.', sent: 'Sent to {attempted} devices, {delivered} delivered, {pending} waiting',
  sentList: 'Sent notifications', noSent: 'No notification was sent yet.', attempted: 'Devices', delivered: 'Delivered', failed: 'Failed', waiting: 'Waiting', remove: 'Remove a device',
  removeText: 'No more pushes are sent to the device until its app registers it again.', removeAction: 'Remove', removed: 'The device is removed', cloudProject: 'Project of the provider',
};
