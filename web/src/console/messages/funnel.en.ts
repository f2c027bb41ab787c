export const funnelEn = {
  title: 'Sales funnel', empty: 'No product was opened or sold in this stream yet. Add the shopping page to your website, and show products while you are on air.', toShop: 'Set up the shopping page',
  viewers: 'Viewers at the peak', clicks: 'Products opened', carts: 'Carts filled', checkouts: 'Orders placed', orders: 'Orders paid',
  clicksRate: '{n} per viewer at the peak', cartsRate: '{p} of the opened products', checkoutsRate: '{p} of the carts', ordersRate: '{p} of the placed orders',
  note: 'Live and in replays. Viewers aren’t followed: these are counts of events, so a step can be larger than the one before it. Carts are deleted 30 days after their last change.',
  watched: 'Minutes watched, about', revenue: 'Sales', none: 'None', products: 'Products of the stream', product: 'Product', opened: 'Opened', units: 'Units sold', bought: 'Orders per opening',
};
