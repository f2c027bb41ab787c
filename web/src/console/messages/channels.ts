import { catalogue } from '../lib/i18n.js';
import { channelsDe } from './channels.de.js';
import { channelsEn } from './channels.en.js';

export const useChannels = catalogue(channelsEn, channelsDe);
