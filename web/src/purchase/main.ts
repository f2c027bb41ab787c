// The page to which the processor's payment page leads the winner of an auction:
// ?result= is `paid` or `cancelled`. It only chooses the text.
import { readBrand, showBrand, titled } from '../brand/page.js';

const result = new URLSearchParams(location.search).get('result');
const brand = readBrand();
showBrand(brand);
if (result === 'paid' || result === 'cancelled') {
  for (const section of document.querySelectorAll('section')) section.hidden = section.id !== result;
}
document.title = titled(document.querySelector('section:not([hidden]) h1')?.textContent ?? '', brand);
