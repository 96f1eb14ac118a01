// The page: which view is shown, when it is read anew, acting, and the keyboard.

import { h, render, seen, text, link, ties } from './dom.js';
import { enter, act, get, Stream } from './wire.js';
import * as views from './views.js';

const main = document.getElementById('main');
const instance = document.title;
const drawn = ['q', 'kind', 'to', 'zoom', 'all']; // parameters that nothing is read for
const order = ['now', 'goals', 'clan', 'ledger'];

await enter();

// page is the view that is shown, with its values and its drafts.
const page = {
  view: null, id: '', params: new URLSearchParams(), data: null, read: Date.now(), problem: null, rows: [], dropped: false,
  drafts: new Map(), // texts and keys of forms that are not sent, by form and id

  // here is the address of this view with other parameters.
  here(change) {
    const q = new URLSearchParams(page.params);
    for (const [k, v] of Object.entries(change)) v ? q.set(k, v) : q.delete(k);
    return page.path + (q.size ? '?' + q : '');
  },
  go(to, quietly) {
    if (quietly) history.replaceState(null, '', '#/' + to);
    else history.pushState(null, '', '#/' + to);
    route(quietly && to.split('?')[0] === page.path);
  },

  // filter is a parameter of the address that is typed or chosen.
  filter(name, label, choices) {
    const how = drawn.includes(name) ? 'oninput' : 'onchange';
    const change = (e) => page.go(page.here({ [name]: e.target.value === (choices || [''])[0] ? '' : e.target.value }), true);
    const attrs = { id: 'f-' + name, value: page.params.get(name) || (choices ? choices[0] : ''), 'data-filter': '' };
    return h('span', { class: 'field', key: 'w-' + name }, h('label', { for: attrs.id, class: 'quiet' }, label), choices
      ? h('select', { ...attrs, key: name, onchange: change }, choices.map((c) => h('option', { value: c }, c || 'all')))
      : h('input', { ...attrs, key: name, type: 'search', [how]: change }));
  },

  // draft keeps the text and the key of a form until it was sent.
  draft(id) {
    if (!page.drafts.has(id)) page.drafts.set(id, { text: '', key: crypto.randomUUID(), busy: false, body: '' });
    return page.drafts.get(id);
  },

  // unsent are the drafts with words about an artefact, with the names of their forms.
  unsent: () => [...page.drafts].filter(([, d]) => d.about && d.text.trim() && !d.busy),
  drop(form) {
    page.drafts.delete(form);
    paint();
  },

  // form is a text with what may be done with it. It is about an artefact: its id, and what it says to people.
  form(name, id, { label, about, buttons }) {
    const d = page.draft(name + id);
    d.about = { id, says: about };
    const say = async (b) => {
      const words = b.silent ? '' : d.text.trim();
      if (b.needs && !words) {
        tell('Say it in words first.');
        document.getElementById('t-' + name + id).focus();
        return;
      }
      const act = () => send(name + id, b.act, id, b.body || (words ? { text: words } : {}));
      if (b.asks) sure(b.label, about, b.asks, id, act);
      else await act();
    };
    return h('div', { key: 'form-' + name + id }, h('label', { for: 't-' + name + id, class: 'quiet' }, label),
      h('textarea', { id: 't-' + name + id, dir: 'auto', 'data-answer': '', value: d.text, oninput: (e) => { d.text = e.target.value; }, onkeydown: (e) => {
        if (e.key === 'Enter' && (e.ctrlKey || e.metaKey)) say(buttons[buttons.length - 1]);
      } }),
      h('div', { class: 'row' }, buttons.map((b) => h('button', { type: 'button', class: b.class, disabled: d.busy, onclick: () => say(b) }, b.label))));
  },

  // button does something that is asked about first.
  button: (name, id, label) => h('button', { type: 'button', key: 'b-' + name + id, class: name === 'cancel' ? 'stop' : null, disabled: page.draft(name + id).busy, onclick: () => confirm(name, id, label) }, label),
};

// send acts, once however often it is called. Another body has another key.
async function send(form, name, id, body) {
  const d = page.draft(form);
  if (d.busy) return false;
  const said = name + JSON.stringify(body);
  if (d.body && d.body !== said) d.key = crypto.randomUUID();
  d.busy = true;
  d.body = said;
  paint();
  try {
    const done = await act(name, id, body, d.key);
    tell(done.says);
    page.drafts.delete(form);
    await refresh();
    return true;
  } catch (e) {
    d.busy = false;
    if (e.status >= 400 && e.status < 500) d.key = crypto.randomUUID(); // it was refused: the next try is another act
    tell(e.message + (e.hint ? ' — ' + e.hint : ''));
    if (e.status === 409 || e.status === 404) refresh();
    return false;
  } finally {
    paint();
  }
}

// confirm asks for the reason of an act, and whether it is meant.
function confirm(name, id, label) {
  const dialog = document.getElementById('dialog');
  const d = page.draft(name + id);
  const needs = name === 'cancel';
  const close = () => dialog.close();
  ask(
    h('h2', null, label, '?'), h('p', { class: 'quiet' }, needs ? 'What runs for it is stopped. A goal that was cancelled cannot be tried again.' : 'What failed is tried again.', ' ', h('code', null, id)),
    h('label', { for: 'why' }, needs ? 'Why' : 'Why it will go better (may be empty)'),
    h('textarea', { id: 'why', dir: 'auto', value: d.text, oninput: (e) => { d.text = e.target.value; } }),
    h('div', { class: 'row' }, h('button', { type: 'button', onclick: close }, 'No'), h('button', { type: 'button', class: needs ? 'stop' : 'do', onclick: async () => {
      if (needs && !d.text.trim()) {
        document.getElementById('why').focus();
        return;
      }
      close();
      await send(name + id, name, id, d.text.trim() ? { text: d.text.trim() } : {});
    } }, 'Yes, ' + label.toLowerCase())),
  );
  document.getElementById('why').focus();
}

// sure asks whether an act is meant, and names what it is about. The second half of a double click is not heard.
function sure(label, about, says, id, then) {
  const dialog = document.getElementById('dialog');
  const yes = 'Yes, ' + label.toLowerCase();
  const show = (early) => [h('h2', null, label, '?'), h('p', { class: 'about' }, text(about)), h('p', { class: 'quiet' }, says, ' ', h('code', null, id)), h('div', { class: 'row' },
    h('button', { type: 'button', onclick: () => dialog.close() }, 'No'),
    h('button', { type: 'button', class: 'do', disabled: early, onclick: () => { dialog.close(); then(); } }, yes))];
  ask(...show(true));
  setTimeout(() => {
    if (dialog.open && dialog.querySelector('.do:disabled')?.textContent === yes) render(dialog, show(false));
  }, 400);
}

// ask shows the dialog, which its heading names.
function ask(...kids) {
  const dialog = document.getElementById('dialog');
  render(dialog, kids);
  dialog.setAttribute('aria-label', dialog.querySelector('h2').textContent);
  dialog.showModal();
}

// tell shows a message for a while.
function tell(s) {
  const p = document.createElement('p');
  p.dir = 'auto';
  p.textContent = seen(s);
  document.getElementById('said').append(p);
  setTimeout(() => p.remove(), 8000);
}

// state says whether what is shown is the present.
let old = '', connected = false;
function state(s, why) {
  connected = s === 'live';
  if (s === 'live') old = '';
  else if (!old) old = new Date().toLocaleTimeString();
  const e = document.getElementById('state');
  e.className = s === 'live' ? '' : 'old';
  e.textContent = s === 'live' ? 'live' : 'as of ' + old + ': ' + seen(why || 'no connection');
}

// refresh reads the view anew; while it does, it remembers that it has to again.
let reading = null, again = false, number = 0, failed = 0;
async function refresh() {
  if (reading) {
    again = true;
    return reading;
  }
  const key = () => page.path + '?' + [...page.params].filter(([n]) => !drawn.includes(n));
  const view = page.view, at = key(), mine = ++number;
  const begun = performance.now();
  const early = (data) => {
    if (mine !== number || key() !== at || (page.data && page.data.view === view)) return;
    page.data = { view, data };
    paint();
  };
  reading = view.load(page, early).then((data) => {
    if (mine !== number || key() !== at) {
      again = true;
      return;
    }
    page.data = { view, data };
    page.read = Date.now();
    page.problem = null;
    failed = 0;
    if (streaming && !connected) state('live');
  }, (e) => {
    const final = e.status === 401 || e.status === 404;
    if (key() !== at) again = true;
    else if (final || !page.data) page.problem = e;
    else state('old', e.message);
    if (!final) setTimeout(stir, 1000 * 2 ** Math.min(failed++, 5)); // nothing else may happen for long
  }).then(() => {
    reading = null;
    paint();
    const took = performance.now() - begun;
    if (again) {
      again = false;
      setTimeout(refresh, page.data && page.data.view === page.view ? Math.min(took, 2000) : 0);
    }
  });
  return reading;
}

// stir has the view read soon, because something happened.
let stirred = null;
function stir() {
  if (stirred) return;
  stirred = setTimeout(() => {
    stirred = null;
    refresh();
  }, 25);
}

// paint brings the document to what the page says. Its cost says how soon it may again.
let cost = 0;
function paint() {
  const begun = performance.now();
  const on = document.activeElement;
  bring();
  const name = main.querySelector('h1')?.textContent || page.view.title;
  if (main.getAttribute('aria-label') !== name) main.setAttribute('aria-label', name);
  focused(on);
  cost = performance.now() - begun;
}

// focused leads the keyboard into the view that was opened, once it is there, and back to where it was if painting took
// that away.
function focused(on) {
  const now = document.activeElement;
  if (page.opened && (page.problem || (page.data && page.data.view === page.view))) {
    page.opened = false;
    if (!now?.closest('input,textarea,select,dialog')) main.focus({ preventScroll: true });
  } else if (now === document.body && on && on !== now) (on.isConnected ? on : main).focus({ preventScroll: true });
}

function bring() {
  render(document.getElementById('nav'), order.map((name) => link(name, views[name].title, { key: name, 'aria-current': page.view === views[name] ? 'page' : name === 'goals' && page.view === views.show ? 'true' : null })));
  if (page.problem) {
    const lost = page.problem.status === 401;
    render(main, [h('h1', { key: 'p' }, lost ? 'This page is not open any more' : 'It cannot be shown'), h('p', null, text(page.problem.message)),
      page.problem.hint ? h('p', null, lost ? 'Type: ' : '', h('code', null, page.problem.hint)) : null]);
    return;
  }
  if (!page.data || page.data.view !== page.view) {
    if (!main.firstChild) render(main, [h('p', { class: 'quiet', key: 'w' }, 'is read…')]);
    return;
  }
  render(main, [h('div', { key: page.path }, page.view.draw(page, page.data.data))]);
}

// The ledger of the instance, and the one that the ledger's view follows.
let own = null, ownQuery = '', streaming = false;

function follow() {
  new Stream({}, { open: stir, state: (s, why) => { streaming = s === 'live'; state(s, why); }, entry: (e) => {
    if (e.kind === 'import' && own) { // entries of before have come, and own ones have other places
      ownQuery = '';
      followOwn();
    }
    if (!page.view.still && !page.view.own) stir(e);
  }, problem: (e) => { page.problem = e; paint(); } }, true);
}

function followOwn() {
  const query = page.view.own ? JSON.stringify(page.view.query(page)) : '';
  if (query === ownQuery) return;
  ownQuery = query;
  if (own) own.close();
  own = null;
  if (!query) return;
  page.rows = [];
  page.dropped = false;
  page.fresh = true;
  let due = null;
  const arrived = () => { page.fresh = false; paint(); };
  own = new Stream(page.view.query(page), { open() { setTimeout(arrived, 1000); }, state, problem(e) { page.problem = e; paint(); }, entry(e) {
    page.rows.push(e);
    page.fresh = false;
    if (page.rows.length > 2 * views.ledger.kept) {
      page.rows.splice(0, views.ledger.kept);
      page.dropped = true;
    }
    due ||= setTimeout(() => { due = null; paint(); }, Math.max(25, 3 * cost));
  } });
}

// decoded is a part of the address; one that a person typed may be no code.
function decoded(s) {
  try {
    return decodeURIComponent(s);
  } catch {
    return s;
  }
}

// route shows what the address says.
function route(quietly) {
  const before = page.params;
  const [path, query] = location.hash.replace(/^#\/?/, '').split('?');
  const [name, id] = path.split('/');
  const view = Object.hasOwn(views, name) ? views[name] : views.now;
  const known = page.path !== undefined, moved = page.path !== (path || 'now');
  page.view = view;
  page.id = decoded(id || '');
  page.path = path || 'now';
  page.params = new URLSearchParams(query || '');
  page.problem = null;
  if (moved && page.data && page.data.view === view && view === views.show) page.data = null;
  document.title = view.title + (page.id ? ' ' + page.id.slice(-8) : '') + ' · ' + instance;
  if (moved) {
    page.opened = known; // at the first load the document begins
    main.scrollTop = 0;
    scrollTo(0, 0);
  }
  followOwn();
  paint();
  const names = [...page.params.keys(), ...before.keys()].filter((n) => page.params.get(n) !== before.get(n));
  if (!quietly || names.some((n) => !drawn.includes(n))) refresh();
}

// Keys.
const keys = [['?', 'list the keys'], ['g n', 'Now'], ['g g', 'Goals'], ['g c', 'Clan'], ['g l', 'Ledger'], ['j k', 'next, previous'], ['Enter', 'open'], ['↑ ↓ Enter', 'in changes: who wrote a line'], ['a', 'answer, or the next form'],
  ['/', 'search and filters'], ['1 … 5', 'parts of a goal'], ['+ -', 'zoom the timeline'], ['Ctrl+Enter', 'send the form'], ['r', 'read anew'], ['u', 'back'], ['Esc', 'leave a field or a dialog']];
let before = '';

function help() {
  ask(h('h2', null, 'Keys'), h('dl', null, keys.map(([k, what]) => [h('dt', null, k.split(' ').map((x) => [h('kbd', null, x), ' '])), h('dd', null, what)])),
    h('button', { type: 'button', onclick: () => document.getElementById('dialog').close() }, 'Close'));
}

function step(by) {
  const all = [...main.querySelectorAll('[data-row]')];
  if (!all.length) return;
  const on = all.findIndex((e) => e === document.activeElement || e.contains(document.activeElement));
  all[on < 0 ? (by > 0 ? 0 : all.length - 1) : Math.min(Math.max(on + by, 0), all.length - 1)].focus();
}

function open(e) {
  const box = e.closest('[data-ref]');
  if (box) page.go('show/' + encodeURIComponent(box.getAttribute('data-ref')));
  else {
    const to = e.querySelector('a[href]');
    if (to) to.click();
  }
}

// blame says who wrote a line of a commit's file.
async function blame(line) {
  const { at, file, line: lines } = line.dataset;
  const dialog = document.getElementById('dialog');
  let says;
  try {
    says = views.origin(await get('blame', { at, file, lines }));
  } catch (e) {
    tell(e.message + (e.hint ? ' — ' + e.hint : ''));
    return;
  }
  if (dialog.open || !line.isConnected) return;
  ask(...says, h('button', { type: 'button', onclick: () => dialog.close() }, 'Close'));
  for (const a of dialog.querySelectorAll('a[href]')) a.addEventListener('click', () => dialog.close(), { once: true });
}

document.addEventListener('keydown', (e) => {
  const typing = e.target.closest('input,textarea,select');
  if (e.key === 'Escape' && typing && !e.target.closest('dialog')) e.target.blur();
  if (typing || e.ctrlKey || e.metaKey || e.altKey || document.getElementById('dialog').open) return;
  const diff = e.target.closest('.diff');
  if (diff && ['ArrowDown', 'ArrowUp', 'Enter'].includes(e.key)) {
    const all = [...diff.querySelectorAll('[data-line]')];
    const on = all.indexOf(e.target);
    if (e.key !== 'Enter') all[Math.min(Math.max(on + (e.key === 'ArrowDown' ? 1 : -1), 0), all.length - 1)]?.focus();
    else if (on >= 0) blame(e.target);
    e.preventDefault();
    return;
  }
  const chord = before === 'g' ? 'g ' + e.key : e.key;
  before = e.key;
  const to = { 'g n': 'now', 'g g': 'goals', 'g c': 'clan', 'g l': 'ledger' }[chord];
  if (to) {
    before = '';
    page.go(to);
  } else if (chord === '?') help();
  else if (chord === 'j') step(1);
  else if (chord === 'k') step(-1);
  else if (chord === 'r') refresh();
  else if (chord === 'u') history.back();
  else if (chord === 'a') main.querySelector('[data-answer]')?.focus();
  else if (chord === '/') main.querySelector('[data-filter]')?.focus();
  else if (/^[1-9]$/.test(chord)) main.querySelector('[data-tab="' + chord + '"]')?.click();
  else if (chord === '+' || chord === '-') main.querySelector('[data-zoom="' + chord + '"]')?.click();
  else if (chord === 'Enter' && e.target.matches('[data-row]')) open(e.target);
  else return;
  e.preventDefault();
});

for (const [event, on] of [['mouseover', true], ['focusin', true], ['mouseout', false], ['focusout', false]]) {
  main.addEventListener(event, (e) => {
    const box = e.target.closest?.('rect[data-ref]');
    if (box) ties(box.ownerSVGElement, on ? box.getAttribute('data-ref') : null);
  });
}

main.addEventListener('click', (e) => {
  const box = e.target.closest?.('[data-ref]');
  const line = e.target.closest?.('[data-line]');
  if (box) open(box);
  else if (line && getSelection().isCollapsed) blame(line); // not while lines are being copied
});
document.getElementById('skip').addEventListener('click', (e) => {
  e.preventDefault();
  main.focus();
});
addEventListener('hashchange', async () => {
  await enter();
  route();
});
document.addEventListener('visibilitychange', () => { if (!document.hidden) stir(); });
setInterval(() => { if (!document.hidden && page.data && page.view.ticks) paint(); }, 1000); // times go on
setInterval(() => { // silence is no entry
  if (!document.hidden && (page.view === views.now || (page.view.goesOn && page.data && page.view.goesOn(page, page.data.data)))) refresh();
}, 10000);

route();
follow();
