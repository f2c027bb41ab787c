export const chatEn = {
  chat: 'Chat', noChat: 'There are no messages yet.', message: 'Message', send: 'Send', asYou: 'You write as {name}.', deleted: 'deleted', edited: 'edited',
  actionsOn: 'Actions for the message of {name}', remove: 'Delete', removeText: 'The message disappears for all readers. This can’t be undone.',
  mute: 'Mute', muteText: '“{name}” can still read, but can’t write until you unmute them.', unmute: 'Unmute',
  timeout: 'Time out', timeoutText: '“{name}” can still read, but can’t write until the time is over. A new timeout replaces the previous one.', untimeout: 'End the timeout',
  ban: 'Ban', banText: '“{name}” is disconnected from the chat, and can’t read, write or join until you lift the ban. The history of a stream’s chat stays public.', unban: 'Lift the ban',
  duration: 'For how long', minute1: '1 minute', minute5: '5 minutes', minute10: '10 minutes', hour1: '1 hour', day1: '1 day', day7: '1 week',
  reason: 'Reason', reasonHint: 'For your own records; the user doesn’t see it.',
  slowmode: 'Slow mode', slowOff: 'No slow mode', slowFor: 'Slow mode: {time}', seconds: '{n} s', minutes: '{n} min', hours: '{n} h', slowChanged: 'The slow mode is changed',
  restricted: 'Muted or banned now', unrestricted: 'All users may write.', restrictHint: 'To mute, time out or ban an author, open the menu of a message.', muted: 'Muted', banned: 'Banned', timedOut: 'Timed out until {time}', timedOutShort: 'Timed out',
  since: 'since {time}', undoFor: '{act}: {name}',
};
