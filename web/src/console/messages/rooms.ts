import { catalogue } from '../lib/i18n.js';
import { roomsDe } from './rooms.de.js';
import { roomsEn } from './rooms.en.js';

export const useRooms = catalogue(roomsEn, roomsDe);
