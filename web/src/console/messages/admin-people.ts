import { catalogue } from '../lib/i18n.js';
import { adminPeopleDe } from './admin-people.de.js';
import { adminPeopleEn } from './admin-people.en.js';

export const useAdminPeople = catalogue(adminPeopleEn, adminPeopleDe);
