// The values of the API's enums.
export const statesEn = {
  STREAM_MINUTES: 'Minutes on air', VIEWER_MINUTES: 'Minutes watched', PARTICIPANT_MINUTES: 'Minutes of participants', RECORDING_MINUTES: 'Recorded minutes',
  STORAGE_BYTES: 'Storage', EGRESS_BYTES: 'Data sent', TRANSCODE_MINUTES: 'Transcoded minutes', PUSHES: 'Pushes',
  IDLE: 'Not on air', LIVE: 'On air', RECONNECTING: 'Reconnecting', ENDED: 'Ended',
  OFFLINE: 'Offline', GOOD: 'Good', STALLED: 'Stalled', REJECTED: 'Rejected',
  TRIAL: 'Trial', ACTIVE: 'Active', PAST_DUE: 'Payment due', SUSPENDED: 'Suspended',
  CANCELLED: 'Cancelled', TRIALING: 'Trial', PAUSED: 'Paused', CANCELED: 'Cancelled',
  INCOMPLETE: 'Payment missing', UNPAID: 'Unpaid', REVOKED: 'Revoked', DISABLED: 'Paused', INVITED: 'Invited', DEACTIVATED: 'Deactivated',
  OWNER: 'Owner', ADMIN: 'Admin', DEVELOPER: 'Developer', VIEWER: 'Viewer', FREE: 'Free', STARTER: 'Starter', PRO: 'Pro', ENTERPRISE: 'Enterprise',
  DRAFT: 'Draft', OPEN: 'Open', PAID: 'Paid', UNCOLLECTIBLE: 'Uncollectible', VOID: 'Void',
  RECORDING: 'Recording', PROCESSING: 'In preparation', READY: 'Ready', FAILED: 'Failed', DELETED: 'Deleted',
};
