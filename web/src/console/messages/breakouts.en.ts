export const breakoutsEn = {
  title: 'Breakout rooms', open: 'Open breakout rooms', openMore: 'Open more rooms', openAction: 'Open the rooms', none: 'There are no breakout rooms. Open some to split the people of this session into groups.',
  count: 'Number of rooms', countHint: 'Up to 20 at a time, and at most 100 open', minutes: 'Minutes until the rooms close', minutesHint: 'They stay open until you close them if empty', people: 'Assignment', noPeople: 'No people have entered or been invited yet. You can open the rooms now, but only the host and cohosts can enter them.',
  spread: 'Distribute evenly', clear: 'Clear', noRoom: 'No room', room: 'Room {number}', roomOf: 'Room of {name}', assigned: '{assigned} of {total} are assigned', numbering: 'Rooms that are open already stay open. The numbers of the new ones continue theirs.',
  hint: 'The people are invited, and enter with the token that they have. The host and cohosts may enter all rooms.', opened: 'The rooms are open', closeAll: 'Close all rooms', closeText: '{count} rooms close at once, and their participants can return to this session. Recordings of the rooms stop.', closed: 'The rooms are closed',
  closesAt: 'Closes at {time}', staysOpen: 'Open until you close it', empty: 'No one is invited. The host and cohosts may enter.', parent: 'This is a breakout room.', toParent: 'To the main session',
};
