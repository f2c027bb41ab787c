// The page to which the processor's payment page leads the winner of an auction:
// ?result= is `paid` or `cancelled`. It only chooses the text.
const result = new URLSearchParams(location.search).get('result');
if (result === 'paid' || result === 'cancelled') {
  document.getElementById('other').hidden = true;
  const said = document.getElementById(result);
  said.hidden = false;
  document.title = `${said.querySelector('h1').textContent} · Showfloor`;
}
