import { catalogue } from '../lib/i18n.js';
import { adminStreamsDe } from './admin-streams.de.js';
import { adminStreamsEn } from './admin-streams.en.js';

export const useAdminStreams = catalogue(adminStreamsEn, adminStreamsDe);
