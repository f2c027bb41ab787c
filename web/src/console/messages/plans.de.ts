import type { plansEn } from './plans.en.js';

export const plansDe: Record<keyof typeof plansEn, string> = {
  cap: 'Ausgabenlimit setzen', capText: 'Ist das Limit erreicht, wird neue Nutzung über die enthaltene hinaus abgelehnt. Laufendes geht weiter und wird nicht darüber hinaus berechnet.', amount: 'Betrag in {currency} je Zeitraum',
  remove: 'Limit entfernen', removeText: 'Nutzung über die enthaltene hinaus wird dann ohne Ihr Limit berechnet.', capSet: 'Das Ausgabenlimit ist gesetzt', capRemoved: 'Das Ausgabenlimit ist entfernt',
  plans: 'Tarife', noPlans: 'Es gibt keinen buchbaren Tarif. Fragen Sie den Support.', monthly: '{price} im Monat', yearly: '{price} im Jahr', bookMonth: 'Monatlich buchen', bookYear: 'Jährlich buchen',
  present: 'Ihr Tarif', change: 'Tarif wechseln', changeText: 'Zu {plan} wechseln, {price}? Ein größerer Tarif gilt sofort und wird sofort berechnet, ein kleinerer gilt nach dem bezahlten Zeitraum.',
  changed: 'Der Wechsel ist gebucht', trial: '{days} Tage kostenlos beim ersten Abonnement', pending: 'Ab {at}: {plan}', cancel: 'Abonnement kündigen',
  trialChangeText: 'Zu {plan} wechseln, {price}? In der Testphase gilt der Wechsel sofort und ist kostenlos.',
  cancelNowText: 'Das Abonnement endet sofort. Danach haben Sie den Tarif Free.',
  cancelText: 'Das Abonnement endet am {at}. Danach haben Sie den Tarif Free.', cancelled: 'Das Abonnement endet am {at}.', resume: 'Abonnement behalten',
  resumed: 'Das Abonnement läuft weiter', canceledDone: 'Das Abonnement ist gekündigt', pay: 'Zahlung abschließen', net: 'Preise ohne Steuer.',
};
