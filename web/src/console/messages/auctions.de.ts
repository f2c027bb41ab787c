import type { auctionsEn } from './auctions.en.js';

export const auctionsDe: Record<keyof typeof auctionsEn, string> = {
  auctions: 'Auktionen', newAuction: 'Neue Auktion', start: 'Auktion starten', started: 'Die Auktion hat begonnen', startedAt: 'Begonnen',
  noAuctions: 'Keine Auktion ist aufgeführt. Starten Sie eine in einem Stream, oder löschen Sie den Filter. Zuschauer bieten auf der Shopping-Seite des Streams.',
  LIVE: 'Läuft', ENDED: 'Beendet', SETTLED: 'Bezahlt', CANCELLED: 'Abgesagt', ending: 'Das Ergebnis wird gerade ermittelt',
  product: 'Produkt', stream: 'Stream', topBid: 'Höchstgebot', bidder: 'Bieter', nextBid: 'Nächstes Gebot ab', bids: 'Gebote', timeLeft: 'Restzeit', ends: 'Endet', ended: 'Beendet', plannedEnd: 'Geplantes Ende',
  result: 'Ergebnis', currency: 'Währung', noBid: 'Noch kein Gebot', noBids: 'Es gibt keine Gebote.', days: '{days} T. {rest}',
  startingBid: 'Startgebot', increment: 'Kleinster Schritt', reserve: 'Mindestpreis', noReserve: 'Keiner', antiSnipe: 'Verlängerung durch späte Gebote', antiSnipeOf: '{seconds} s', off: 'Aus',
  resultWon: 'Gewonnen, nicht bezahlt', resultReserve: 'Nicht verkauft: unter dem Mindestpreis', resultNoBids: 'Nicht verkauft: kein Gebot', resultPaid: 'Verkauft und bezahlt', resultCancelled: 'Nicht verkauft',
  reserveMet: 'Mindestpreis erreicht', reserveMissed: 'Mindestpreis nicht erreicht', reserveOpen: 'Mindestpreis noch nicht erreicht', details: 'Angaben', auctionID: 'Id der Auktion',
  amount: 'Gebot', at: 'Zeit', history: 'Gebote', historyHint: 'Die Gebote der letzten 30 Tage, die neuesten zuerst.', winner: 'Gewinner', order: 'Bestellung', openOrder: 'Bestellung öffnen', payUntil: 'Zu bezahlen bis {time}',
  payPage: 'Link zur Zahlungsseite kopieren', watchPage: 'Shopping-Seite', callOff: 'Auktion absagen', calledOff: 'Die Auktion ist abgesagt',
  callOffText: 'Die Auktion endet sofort ohne Verkauf, die Zuschauer sehen das, und das Stück ist wieder frei. Das lässt sich nicht rückgängig machen.',
  hasBid: 'Eine Auktion mit einem Gebot lässt sich nicht absagen.',
  productHint: 'Suchen Sie nach Name oder Artikelnummer. Die Auktion verkauft ein Stück.', productFacts: 'Preis {price} · Bestand {stock}', uncounted: 'nicht gezählt', noProduct: 'Kein Produkt im Verkauf passt',
  noStream: 'Es gibt noch keinen Stream. Legen Sie zuerst einen an.', streamHint: 'Der Stream, in dem die Zuschauer bieten.', chooseProduct: 'Wählen Sie ein Produkt', chooseStream: 'Wählen Sie einen Stream',
  reserveHint: 'Ohne ihn gewinnt das höchste Gebot. Bieter sehen ihn nicht.', badMoney: 'Geben Sie einen Betrag wie {example} ein', badStep: 'Geben Sie einen Betrag von mindestens {least} ein',
  duration: 'Dauer', unit: 'Einheit', minutes: 'Minuten', hours: 'Stunden', unitDays: 'Tage', badDuration: 'Geben Sie eine ganze Zahl ein. Die längste Dauer sind 7 Tage.', snipe: 'Verlängerung durch späte Gebote, Sekunden',
  snipeHint: 'Ein Gebot in den letzten Sekunden verschiebt das Ende um ebenso viele. 0 für keine.', badSnipe: 'Geben Sie eine ganze Zahl von 0 bis 3600 ein', startsNow: 'Die Auktion beginnt sofort und endet am {time}, oder später, wenn späte Gebote sie verlängern.',
};
