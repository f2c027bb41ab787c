import type { funnelEn } from './funnel.en.js';

export const funnelDe: Record<keyof typeof funnelEn, string> = {
  title: 'Verkaufstrichter', empty: 'In diesem Stream wurde noch kein Produkt geöffnet oder verkauft. Binden Sie die Shopping-Seite in Ihre Website ein, und zeigen Sie auf Sendung Produkte.', toShop: 'Shopping-Seite einrichten',
  viewers: 'Zuschauer am Höhepunkt', clicks: 'Produkte geöffnet', carts: 'Warenkörbe gefüllt', checkouts: 'Bestellungen aufgegeben', orders: 'Bestellungen bezahlt',
  clicksRate: '{n} je Zuschauer am Höhepunkt', cartsRate: '{p} der geöffneten Produkte', checkoutsRate: '{p} der Warenkörbe', ordersRate: '{p} der aufgegebenen Bestellungen',
  note: 'Live und in Aufzeichnungen. Einzelne Zuschauer werden nicht verfolgt: die Zahlen zählen Ereignisse, darum kann eine Stufe größer sein als die vorige. Warenkörbe werden 30 Tage nach ihrer letzten Änderung gelöscht.',
  watched: 'Gesehene Minuten, ungefähr', revenue: 'Umsatz', none: 'Keiner', products: 'Produkte des Streams', product: 'Produkt', opened: 'Geöffnet', units: 'Verkaufte Stücke', bought: 'Bestellungen je Öffnung',
};
