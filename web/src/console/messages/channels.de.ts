import type { channelsEn } from './channels.en.js';

export const channelsDe: Record<keyof typeof channelsEn, string> = {
  channels: 'Chat-Kanäle', newChannel: 'Neuer Kanal', noChannels: 'Es gibt keine Kanäle. Ein Kanal ist ein Chat Ihrer Benutzer, für eine Gruppe oder für zwei. Die Chats der Streams stehen auf den Seiten der Streams.',
  kind: 'Art', group: 'Gruppe', direct: 'Zwei Benutzer', stream: 'Stream', session: 'Sitzung', members: 'Mitglieder', lastMessage: 'Letzte Nachricht', never: 'Noch keine', member: 'Ihre Id eines Mitglieds',
  groupText: 'Ein Kanal für beliebig viele Mitglieder. Der Gastgeber moderiert ihn.', directText: 'Ein Kanal für zwei Benutzer. Jede Nachricht wird dem anderen als Push gesendet. Haben die beiden schon einen, wird er geöffnet.',
  host: 'Ihre Id des Gastgebers', hostHint: 'Der Gastgeber moderiert den Kanal und lässt sich nicht einschränken.', firstMembers: 'Ihre Ids der ersten Mitglieder', firstMembersHint: 'Eine Id je Zeile, höchstens 1000',
  user1: 'Ihre Id des ersten Benutzers', user2: 'Ihre Id des zweiten Benutzers', titleHint: 'Der Titel von Push-Nachrichten; die beiden Ids, wenn leer', project: 'Push-Projekt', projectHint: 'Seine Push-Zugangsdaten werden benutzt. Ohne Projekt wird kein Push gesendet.',
  noMembers: 'Der Kanal hat keine Mitglieder. Fügen Sie das erste hinzu.', addMember: 'Mitglied hinzufügen', add: 'Hinzufügen', userId: 'Ihre Id des Benutzers', user: 'Benutzer', role: 'Rolle', roleHost: 'Gastgeber', roleCohost: 'Co-Gastgeber', roleGuest: 'Gast', roleViewer: 'Zuschauer', joined: 'Beigetreten', state: 'Zustand', mayWrite: 'Darf schreiben',
  roleHint: 'Gastgeber und Co-Gastgeber moderieren den Chat in Ihrer App.', memberAdded: 'Das Mitglied ist hinzugefügt', actionsOn: 'Aktionen für {name}', makeCohost: 'Zum Co-Gastgeber machen', makeGuest: 'Zum Gast machen', removeMember: 'Aus dem Kanal entfernen',
  removeMemberText: '„{name}“ ist dann kein Mitglied mehr und lässt sich wieder hinzufügen.', onlyMembers: 'Hier schreiben nur die beiden Mitglieder.',
};
