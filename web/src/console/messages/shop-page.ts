import { catalogue } from '../lib/i18n.js';
import { shopPageDe } from './shop-page.de.js';
import { shopPageEn } from './shop-page.en.js';

export const useShopPage = catalogue(shopPageEn, shopPageDe);
