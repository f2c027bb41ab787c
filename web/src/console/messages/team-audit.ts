import { catalogue } from '../lib/i18n.js';
import { teamAuditDe } from './team-audit.de.js';
import { teamAuditEn } from './team-audit.en.js';

export const useTeamAudit = catalogue(teamAuditEn, teamAuditDe);
