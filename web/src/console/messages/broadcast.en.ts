export const broadcastEn = {
  title: 'Broadcast', text: 'Sends the picture and the voices of the room to a stream, which is watched, recorded and restreamed like any other.', 
  stream: 'Stream', noStream: 'No stream is off air. Create one, or end a broadcast.', streamHint: 'A stream that isn’t on air', start: 'Start the broadcast', stop: 'Stop the broadcast', stopText: 'The stream ends as if its encoder had stopped. The session continues.',
  starting: 'Starting', startingText: 'It is on air with the first picture. This needs a participant in the room.', live: 'On air', liveText: 'On air since {time}.', ended: 'Ended', toStream: 'Open the stream',
  endedText: 'It ended on {time}.', stopped: 'It was stopped.', session_ended: 'The session ended.', stream_stopped: 'The stream was stopped.', stream_taken: 'An encoder published the stream.', encoder_failed: 'The server’s encoder failed.',
  no_capacity: 'The server had no room for another broadcast.', room_empty: 'The room was empty.', download: 'Download as WebVTT',
};
