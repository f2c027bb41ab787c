export const plansEn = {
  cap: 'Set the spend cap', capText: 'At the cap, new work beyond the included usage is refused. Running work goes on and isn’t charged beyond it.', amount: 'Amount in {currency} a period',
  remove: 'Remove the cap', removeText: 'Usage beyond the included one is then charged without a cap of yours.', capSet: 'The spend cap is set', capRemoved: 'The spend cap is removed',
  plans: 'Plans', noPlans: 'There is no plan to book. Ask the support.', monthly: '{price} a month', yearly: '{price} a year', bookMonth: 'Book by the month', bookYear: 'Book by the year',
  present: 'Your plan', change: 'Change the plan', changeText: 'Change to {plan}, {price}? A larger plan takes effect and is charged at once, a smaller one when the paid period ends.',
  changed: 'The change is booked', trial: '{days} days free for your first subscription', pending: 'From {at}: {plan}', cancel: 'Cancel the subscription',
  trialChangeText: 'Change to {plan}, {price}? During the trial the change takes effect at once and is free.',
  cancelNowText: 'The subscription ends at once. Then you have the plan Free.',
  cancelText: 'The subscription ends on {at}. Then you have the plan Free.', cancelled: 'The subscription ends on {at}.', resume: 'Keep the subscription',
  resumed: 'The subscription goes on', canceledDone: 'The subscription is cancelled', pay: 'Complete the payment', net: 'Prices without tax.',
};
