export const usageEn = {
  title: 'Usage history', toBilling: 'Billing', period: 'Period', current: 'This billing period', day1: '24 hours', day7: '7 days', day30: '30 days', day90: '90 days', day365: '12 months', own: 'From … to …', from: 'From', to: 'To (inclusive)', fromTo: '{from} – {to}',
  by: 'Rows', byDay: 'By day', byHour: 'By hour', byStream: 'By stream and other resource', hoursLimit: 'Hours are shown for 31 days at most, so these are days.', badRange: 'Choose a first and a last day. The period has at most 400 days, both included.',
  meter: 'Meter', empty: 'There is no usage in this period. Choose a longer one, or start a stream or a session.', table: 'All rows', day: 'Day (UTC)', hour: 'Hour', resource: 'Stream or other resource', kind: 'Kind', stream: 'Stream', session: 'Session', recording: 'Recording', transcode: 'Transcode', other: 'Other', totals: 'Totals of the period', download: 'Download exact data (CSV)',
  unit: '{meter}, {unit}', storageNote: 'the highest level', delay: 'Readings may be up to 5 minutes old. Minutes are rounded up in each row; the CSV file of exact data has seconds.',
};
