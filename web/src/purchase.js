// Where the processor's payment page leads an auction's winner: ?result= says
// whether the winner has paid or turned back. Nothing depends on it.
const result = new URLSearchParams(location.search).get('result');
if (result === 'paid' || result === 'cancelled') {
  document.getElementById('other').hidden = true;
  const said = document.getElementById(result);
  said.hidden = false;
  document.title = `${said.querySelector('h1').textContent} · Showfloor`;
}
