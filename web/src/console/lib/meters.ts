import type { UsageMeter } from '../../gen/api.js';

// All meters, in the order in which the consoles show them.
export const meters = [
  'STREAM_MINUTES', 'VIEWER_MINUTES', 'PARTICIPANT_MINUTES', 'RECORDING_MINUTES', 'STORAGE_BYTES', 'EGRESS_BYTES', 'TRANSCODE_MINUTES',
  'PUSHES',
] as const satisfies readonly UsageMeter[];
