/**
 * What the page does beyond being read: it searches, marks the place in the list, copies samples and writes this
 * server's own address into them. Without it everything is still there to read.
 */
export const docsScript = `
const field = document.querySelector('#search');
const sections = [...document.querySelectorAll('[data-text]')];
const links = new Map([...document.querySelectorAll('nav a')].map((link) => [link.hash.slice(1), link]));
const side = document.querySelector('.side');
const isBeside = matchMedia('(min-width: 52rem)');
const none = document.querySelector('#none');
function search() {
  const words = field.value.toLowerCase().split(/\\s+/).filter(Boolean);
  let found = 0;
  for (const section of sections) {
    const isMeant = words.every((word) => section.dataset.text.includes(word));
    section.hidden = !isMeant;
    const link = links.get(section.id);
    if (link) link.parentElement.hidden = !isMeant;
    found += isMeant;
  }
  for (const group of document.querySelectorAll('[data-group]')) {
    group.hidden = words.length > 0 && !group.querySelector('[data-text]:not([hidden]), :scope > ul > li:not([hidden])');
  }
  for (const extra of document.querySelectorAll('[data-extra]')) extra.hidden = words.length > 0;
  none.hidden = found > 0;
}
field.addEventListener('input', search);
document.addEventListener('keydown', (event) => {
  if (event.key === '/' && document.activeElement !== field && !event.ctrlKey && !event.metaKey) {
    event.preventDefault();
    field.focus();
  }
  if (event.key === 'Escape' && document.activeElement === field) {
    field.value = '';
    search();
    field.blur();
  }
});
// Who follows a link to something that the search hides wants to see it.
addEventListener('hashchange', () => {
  const target = document.getElementById(location.hash.slice(1));
  if (!target?.closest('[hidden]')) return;
  field.value = '';
  search();
  target.scrollIntoView();
});
const seen = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    if (!entry.isIntersecting) continue;
    document.querySelector('nav a[aria-current]')?.removeAttribute('aria-current');
    const link = links.get(entry.target.id);
    link?.setAttribute('aria-current', 'true');
    // Only the list moves, and only where it stands beside the page.
    if (link && isBeside.matches) side.scrollTop = Math.max(0, link.offsetTop - side.clientHeight / 2);
  }
}, { rootMargin: '-10% 0px -80% 0px' });
for (const section of sections) seen.observe(section);
for (const origin of document.querySelectorAll('[data-origin]')) origin.textContent = location.origin;
for (const sample of navigator.clipboard ? document.querySelectorAll('pre') : []) {
  const button = Object.assign(document.createElement('button'), { type: 'button', textContent: 'Copy' });
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(sample.querySelector('code').textContent);
    button.textContent = 'Copied';
    setTimeout(() => { button.textContent = 'Copy'; }, 1500);
  });
  sample.append(button);
}
`;
