export const streamEn = {
  shopping: 'Shopping page', edit: 'Edit', editTitle: 'Edit the stream', name: 'Name', poster: 'Address of the poster', scheduled: 'Planned start', publicReplay: 'Recordings that can be watched without a token', replayProducts: 'Those that show products', replayAll: 'All', replayNone: 'None',
  saved: 'The stream is saved',
  fixed: 'Latency and recording are chosen when a stream is created.',
};
