// The page to which the processor's payment page leads the winner of an auction:
// ?result= is `paid` or `cancelled`. It only chooses the text. The server has put the seller's name into the head.
const result = new URLSearchParams(location.search).get('result');
const seller = document.querySelector('meta[property="og:site_name"]')?.content;
if (seller) {
  const name = document.getElementById('seller');
  name.textContent = seller;
  name.hidden = false;
}
if (result === 'paid' || result === 'cancelled') {
  document.getElementById('other').hidden = true;
  document.getElementById(result).hidden = false;
}
const shown = document.querySelector('section:not([hidden]) h1');
document.title = `${shown.textContent} · ${seller ?? 'Showfloor'}`;
