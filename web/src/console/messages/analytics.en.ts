export const analyticsEn = {
  title: 'Analytics', range: 'Range', day1: '24 hours', day7: '7 days', day30: '30 days', day90: '90 days', day365: '12 months', viewers: 'Viewers',
  viewersHint: 'Most viewers at one time', minutesLive: 'Minutes on air', minutesWatched: 'Minutes watched', sessions: 'Sessions', orders: 'Orders', revenue: 'Sales, {currency}',
  revenueShort: 'Sales', noRevenue: 'None', streams: 'Streams', table: 'All figures', at: 'Time (UTC intervals)', none: 'Nothing happened in this range. Choose a longer one.',
  sales: 'Sales',
};
