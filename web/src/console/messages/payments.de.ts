import type { paymentsEn } from './payments.en.js';

export const paymentsDe: Record<keyof typeof paymentsEn, string> = {
  payments: 'Zahlungen', intro: 'Käufer bezahlen auf den Seiten des Zahlungsdienstes, und das Geld geht dort an Ihr eigenes Konto. Vor dem ersten Verkauf muss der Zahlungsdienst Ihr Unternehmen und dessen Bankkonto kennen.',
  notBegun: 'Nicht begonnen', incomplete: 'Angaben fehlen', checking: 'In Prüfung', restricted: 'Eingeschränkt', ready: 'Bereit',
  notBegunText: 'Richten Sie Ihr Konto beim Zahlungsdienst ein. Das dauert einige Minuten; halten Sie das Bankkonto und die Unterlagen Ihres Unternehmens bereit.',
  incompleteText: 'Ihr Konto besteht, aber dem Zahlungsdienst fehlen noch Angaben. Machen Sie dort weiter, wo Sie aufgehört haben.',
  checkingText: 'Der Zahlungsdienst hat Ihre Angaben und prüft sie. Bis dahin lässt sich nichts bezahlen. Dauert die Prüfung lange, öffnen Sie die Seite des Zahlungsdienstes: Vielleicht braucht er mehr.',
  restrictedText: 'Der Zahlungsdienst nimmt zurzeit keine Zahlungen für Sie an, obwohl er es schon tat. Öffnen Sie seine Seite, um zu sehen, welche Angaben er braucht.',
  readyText: 'Einkäufe, Bestellungen und Auktionen lassen sich bezahlen.',
  begin: 'Zahlungen einrichten', proceed: 'Einrichtung fortsetzen', lookAgain: 'Seite des Zahlungsdienstes öffnen', change: 'Angaben ändern', opens: 'Die Seite des Zahlungsdienstes öffnet sich hier und führt auf diese zurück.',
  leadersOnly: 'Das richtet ein Inhaber oder Admin Ihrer Organisation ein.', account: 'Konto beim Zahlungsdienst',
  stepAccount: 'Konto angelegt', stepDetails: 'Angaben eingereicht', stepCharges: 'Zahlungen angenommen', stepDone: 'erledigt', stepOpen: 'offen',
  back: 'Sie sind vom Zahlungsdienst zurück. Der Stand unten aktualisiert sich von selbst.', expired: 'Der Link zur Seite des Zahlungsdienstes wurde schon benutzt oder ist abgelaufen. Machen Sie mit der Schaltfläche unten weiter.',
  badLink: 'Die Antwort des Zahlungsdienstes hat keinen brauchbaren Link. Versuchen Sie es später erneut.', nextCatalog: 'Zum Katalog', state: 'Stand',
  noteNotBegun: 'Käufer können noch nicht bezahlen: Die Zahlungen sind nicht eingerichtet.', noteIncomplete: 'Käufer können noch nicht bezahlen: Dem Zahlungsdienst fehlen Angaben.',
  noteChecking: 'Käufer können noch nicht bezahlen: Der Zahlungsdienst prüft Ihre Angaben.', noteRestricted: 'Käufer können zurzeit nicht bezahlen: Der Zahlungsdienst hat Ihr Konto eingeschränkt.', noteLink: 'Zahlungen',
};
