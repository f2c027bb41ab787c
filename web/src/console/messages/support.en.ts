export const supportEn = {
  title: 'Support', tickets: 'Tickets', newTicket: 'New ticket', noTickets: 'There are no tickets yet. Ask the support with a new one.',
  subject: 'Subject', body: 'Your question', bodyHint: 'Say what you did, what happened, and when. Requests have an id that helps us find them.',
  priority: 'Priority', LOW: 'Low', NORMAL: 'Normal', HIGH: 'High', URGENT: 'Urgent', OPEN: 'Waiting for support', PENDING: 'Waiting for you',
  RESOLVED: 'Solved', CLOSED: 'Closed', requester: 'Asked by', messages: 'Messages', lastMessage: 'Last message', number: 'No.',
  conversation: 'Conversation', answer: 'Your message', send: 'Send', sent: 'The message is sent', close: 'Close the ticket',
  closeText: 'The ticket takes no more messages. For a further question create a new one.', closed: 'The ticket is closed',
  closedNote: 'This ticket is closed. For a further question create a new one.', byTeam: 'Your team', bySupport: 'Support', bySystem: 'Automatic message',
  announcements: 'Announcements', noAnnouncements: 'There are no announcements.', dismiss: 'Don’t show again', INFO: 'Info', WARNING: 'Important', CRITICAL: 'Critical',
  published: 'Published {at}', all: 'All announcements', allTickets: 'All tickets',
};
