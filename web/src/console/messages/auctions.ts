import { catalogue } from '../lib/i18n.js';
import { auctionsDe } from './auctions.de.js';
import { auctionsEn } from './auctions.en.js';

export const useAuctions = catalogue(auctionsEn, auctionsDe);
