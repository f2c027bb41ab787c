export const channelsEn = {
  channels: 'Chat channels', newChannel: 'New channel', noChannels: 'There are no channels. A channel is a chat of your users, for a group or for two. The chats of streams are on the pages of the streams.',
  kind: 'Kind', group: 'Group', direct: 'Two users', stream: 'Stream', session: 'Session', members: 'Members', lastMessage: 'Last message', never: 'None yet', member: 'Your id of a member',
  groupText: 'A channel for any number of members. The host moderates it.', directText: 'A channel for two users. Each message is pushed to the other one. If the two have one already, it is opened.',
  host: 'Your id of the host', hostHint: 'The host moderates the channel and can’t be restricted.', firstMembers: 'Your ids of the first members', firstMembersHint: 'One id a line, at most 1000',
  user1: 'Your id of the first user', user2: 'Your id of the second user', titleHint: 'The title of pushes; the two ids if empty', project: 'Push project', projectHint: 'Its push credentials are used. Without a project nothing is pushed.',
  noMembers: 'The channel has no members. Add the first one.', addMember: 'Add a member', add: 'Add', userId: 'Your id of the user', user: 'User', role: 'Role', roleHost: 'Host', roleCohost: 'Cohost', roleGuest: 'Guest', roleViewer: 'Viewer', joined: 'Joined', state: 'State', mayWrite: 'May write',
  roleHint: 'Hosts and cohosts moderate the chat in your app.', memberAdded: 'The member is added', actionsOn: 'Actions for {name}', makeCohost: 'Make cohost', makeGuest: 'Make guest', removeMember: 'Remove from the channel',
  removeMemberText: '“{name}” is no longer a member. They can be added again.', onlyMembers: 'Only the two members write here.',
};
