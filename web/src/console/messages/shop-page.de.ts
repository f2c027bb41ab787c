import type { shopPageEn } from './shop-page.en.js';

export const shopPageDe: Record<keyof typeof shopPageEn, string> = {
  title: 'Shopping-Seite', intro: 'Auf dieser Seite sehen Zuschauer einen Stream, chatten, kaufen seine Produkte und bieten in seinen Auktionen. Sie trägt Ihre Marke.',
  stream: 'Stream', streamHint: 'Der Stream, dessen Seite hier gezeigt wird.', noStreams: 'Es gibt noch keine Streams. Jeder Stream hat eine Shopping-Seite.', toStreams: 'Zu den Streams',
  brand: 'Marke', preview: 'Vorschau', showPreview: 'Vorschau zeigen', previewText: 'Die Vorschau betritt die Show als Zuschauer und zählt als einer, solange der Stream auf Sendung ist.',
  previewRole: 'Ihre Rolle kann kein Zuschauer-Token ausstellen, das die Vorschau braucht.', phone: 'Telefon', desk: 'Desktop', width: 'Breite',
  link: 'Link', linkText: 'Jeder Kunde braucht hinter dieser Adresse ein eigenes Token: Es sagt, wessen Warenkorb, Gebote und Bestellungen gezeigt werden. Ihr Server stellt es aus, und es gilt 6 Stunden.',
  copyLink: 'Adresse kopieren', serverCall: 'So fordert Ihr Server ein Token an:', copyCall: 'Aufruf kopieren',
  testLink: 'Testlink erstellen', testText: 'Ein Testlink ist für einen Zuschauer. Er braucht keinen Server von Ihnen.', testUntil: 'Für einen Zuschauer, bis {time}.', copyTest: 'Testlink kopieren', openTest: 'In neuem Tab öffnen',
  embed: 'In Ihrer eigenen Website', embedText: 'Setzen Sie dieses Element dorthin, wo die Show stehen soll. Die Adresse Ihrer Website muss in der Liste derer stehen, die Ihre Seiten einbetten dürfen.',
  copyCode: 'Code kopieren', code: 'Code zum Einbetten', tokenUrl: 'Adresse Ihrer Website, die ein Token liefert', tokenUrlHint: 'Sie antwortet mit {"token": "…"} für den angemeldeten Kunden. Wiederholungen ohne Token brauchen keine.',
  cart: 'Warenkorb', cartPage: 'Warenkorb und Zahlungsseite der Show', cartShop: 'Eigener Warenkorb Ihres Shops', shows: 'Inhalt', live: 'Live-Show', replay: 'Wiederholung: {name}',
  noOrigins: 'Noch darf keine Website Ihre Seiten einbetten. Tragen Sie Ihre unten bei der Marke ein, etwa https://shop.example.', allowed: 'Erlaubt: {list}',
  replays: 'Wiederholungen', noReplays: 'Es gibt noch keine Wiederholung. Aufzeichnungen dieses Streams erscheinen hier, sobald sie fertig sind.', openToAll: 'Ohne Token', tokenNeeded: 'Mit Token', copyReplay: 'Link von {name} kopieren',
  replaysText: 'Wiederholungen ohne Token kann jeder mit dem Link ansehen. Welche das sind, ist eine Einstellung des Streams.',
};
