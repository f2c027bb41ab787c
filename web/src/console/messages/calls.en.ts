export const callsEn = {
  newCall: 'New call', call: 'Call', newCallText: 'A call rings the devices of one of your users. The ids are those of your own system.', ring: 'Call', from: 'Id of the caller', fromName: 'Name that the devices show', fromNameHint: 'The caller’s id if empty',
  to: 'Id of the person who is called', kind: 'Kind', video: 'Video', voice: 'Voice', project: 'Push project', projectHint: 'Its push credentials reach the devices. Without a project no device rings.', same: 'Caller and callee are the same person',
  ringing: 'Ringing', talking: 'In the call', over: 'Over', unanswered: 'Not answered', ringingText: 'The devices of {name} ring. An unanswered call is cancelled by itself, after 45 seconds by default.',
  silentText: 'The call waits for {name} to answer. It has no push project, so no device rings. An unanswered call is cancelled by itself, after 45 seconds by default.',
  talkingText: 'The call was answered. It ends when both have left, or when either hangs up.', overText: 'The call has ended.', unansweredText: 'The call was declined, missed or taken back before an answer.',
  caller: 'Caller', callee: 'Called', linkFor: 'Link for {name}', answerAs: 'Answer as {name}', declineAs: 'Decline as {name}', declineText: 'The devices stop ringing, and the call is over. “{name}” can be called again.',
  takeBack: 'Take the call back', takeBackText: 'The devices of “{name}” stop ringing, and the call is over.', hangUp: 'End the call', hangUpText: 'Both are disconnected. The call can’t be started again.',
};
