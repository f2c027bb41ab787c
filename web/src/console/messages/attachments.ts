import { catalogue } from '../lib/i18n.js';
import { attachmentsDe } from './attachments.de.js';
import { attachmentsEn } from './attachments.en.js';

export const useAttachments = catalogue(attachmentsEn, attachmentsDe);
