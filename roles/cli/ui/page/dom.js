// The page's elements as values: h makes one, render brings a part of the document to
// what they say and leaves everything else as it stands, with its focus. A text is only
// ever a text: no function here reads markup.

// children are all that is wanted of a list, which may have lists and places for nothing in it.
const children = (all) => all.flat(Infinity).filter((k) => k !== null && k !== undefined && k !== false && k !== '');

export const h = (tag, attrs, ...kids) => ({ tag, attrs: attrs || {}, kids: children(kids) });

// spoken are the words of an element for a screen reader: without ages, which change each second, and without buttons.
function spoken(k) {
  if (typeof k !== 'object') return String(k);
  if (k instanceof Node || k.tag === 'button' || k.attrs['data-age']) return '';
  const all = k.kids.map(spoken);
  return k.tag === 'tr' ? all.map((s) => s.trim()).filter(Boolean).join(', ') : all.join(k.kids.some((x) => x.tag === 'div') ? ' ' : '');
}

// Characters that would hide or turn others, or show nothing, are those of Clean in roles/role, but for the signs that go
// before Arabic numbers.
const unseen = /(?![\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\u{110bd}\u{110cd}])[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\p{Variation_Selector}\u2028\u2029]/gu;
const pictures = /^[\xa9\xae\u203c\u2049\u2122\u2139\u2194-\u2199\u21a9\u21aa\u231a\u231b\u2328\u23cf\u23e9-\u23fa\u24c2\u25aa\u25ab\u25b6\u25c0\u25fb-\u25fe\u2600-\u27bf\u2934\u2935\u2b05-\u2b07\u2b1b\u2b1c\u2b50\u2b55\u3030\u303d\u3297\u3299\u{1f000}-\u{1f3fa}\u{1f400}-\u{1faff}]/u;
const joining = ['Arabic', 'Syriac', 'Devanagari', 'Bengali', 'Gurmukhi', 'Gujarati', 'Oriya', 'Tamil', 'Telugu', 'Kannada', 'Malayalam', 'Sinhala', 'Myanmar', 'Khmer'].map((s) => new RegExp('^\\p{Script=' + s + '}', 'u'));

// joins says whether an invisible character belongs to the spelling around it: of an emoji, or of a word.
function joins(c, had, next) {
  let before = had.at(-1) || '';
  if (c === '\ufe0e' || c === '\ufe0f') return pictures.test(before) || (next === '\u20e3' && /^[0-9#*]$/.test(before));
  if (c !== '\u200c' && c !== '\u200d') return false;
  if (c === '\u200d') {
    if (/^[\ufe0f\u{1f3fb}-\u{1f3ff}]/u.test(before)) before = had.at(-2) || '';
    if (pictures.test(before) && pictures.test(next)) return true;
  }
  return joining.some((script) => script.test(before) && script.test(next));
}

const letters = { 7: '\\a', 8: '\\b', 11: '\\v', 12: '\\f', 13: '\\r' };
const written = (n, x = n.toString(16)) => letters[n] || (n < 0x80 ? '\\x' + x.padStart(2, '0') : n < 0x10000 ? '\\u' + x.padStart(4, '0') : '\\U' + x.padStart(8, '0'));

// seen is a text with the characters that would hide or turn others made visible.
export const seen = (s) => s.replace(unseen, (c, at) => (c === '\n' || c === '\t' || joins(c, [...s.slice(Math.max(0, at - 4), at)], String.fromCodePoint(s.codePointAt(at + c.length) ?? 0)) ? c : written(c.codePointAt(0))));

// render makes the children of an element what is wanted.
export const render = (parent, wanted) => bring(parent, children(wanted));

function bring(parent, wanted) {
  const keyed = new Map();
  for (const n of parent.childNodes) if (n.settKey !== undefined) keyed.set(n.settKey, n);
  const wants = keyed.size ? new Set(wanted.map((w) => w.attrs?.key)) : null;
  let at = parent.firstChild;
  for (const want of wanted) {
    let node;
    while (at && at.settKey !== undefined && !wants.has(at.settKey)) { // else those behind it would be moved, which takes their focus
      const next = at.nextSibling;
      at.remove();
      at = next;
    }
    if (typeof want !== 'object') {
      node = at && at.nodeType === Node.TEXT_NODE ? at : document.createTextNode('');
      const data = seen(String(want));
      if (node.data !== data) node.data = data;
    } else if (want instanceof Node) {
      node = want;
    } else {
      node = element(want, at, keyed);
    }
    if (node !== at) parent.insertBefore(node, at);
    if (typeof want === 'object' && !(want instanceof Node)) {
      attributes(node, want.attrs);
      bring(node, want.kids);
      if (node.localName === 'select' && want.attrs.value !== undefined) node.value = want.attrs.value;
    }
    at = node.nextSibling;
  }
  while (at) {
    const next = at.nextSibling;
    at.remove();
    at = next;
  }
}

// element finds the element that is wanted among those that are there, or makes it.
function element(want, at, keyed) {
  const key = want.attrs.key;
  let node = key !== undefined ? keyed.get(key) : at;
  if (!node || node.nodeType !== Node.ELEMENT_NODE || node.localName !== want.tag || node.settKey !== key) {
    node = document.createElement(want.tag);
    node.settKey = key;
    node.settAttrs = {};
  }
  return node;
}

function attributes(node, attrs) {
  const before = node.settAttrs || {};
  for (const name in before) if (!(name in attrs)) set(node, name, null);
  for (const name in attrs) if (before[name] !== attrs[name] || name === 'value') set(node, name, attrs[name]);
  node.settAttrs = attrs;
}

function set(node, name, value) {
  if (name === 'key') return;
  if (name.startsWith('on')) node[name] = value;
  else if (name === 'value' && 'value' in node && node.localName !== 'option') {
    if (document.activeElement !== node && node.value !== String(value ?? '')) node.value = value ?? '';
  } else if (value === null || value === undefined || value === false) node.removeAttribute(name);
  else node.setAttribute(name, value === true ? '' : name === 'aria-label' ? seen(value) : value);
}

// What a picture of sett's may be made of. All else is left out.
const shapes = ['svg', 'title', 'defs', 'marker', 'path', 'rect', 'text', 'g'];
const properties = ['class', 'x', 'y', 'width', 'height', 'rx', 'd', 'viewBox', 'fill', 'fill-opacity', 'role', 'data-ref', 'data-from', 'data-to', 'marker-end',
  'id', 'orient', 'refX', 'refY', 'markerUnits', 'markerWidth', 'markerHeight'];

// picture copies a drawing, shape by shape. Boxes that stand for a record lead to it.
export function picture(from) {
  const copy = (e) => {
    const own = document.createElementNS('http://www.w3.org/2000/svg', e.localName);
    for (const a of e.attributes) if (properties.includes(a.name)) own.setAttribute(a.name, a.value);
    const ref = own.getAttribute('data-ref');
    if (ref) {
      own.setAttribute('tabindex', '0');
      own.setAttribute('role', 'link');
      own.setAttribute('data-row', '');
    }
    for (const k of e.childNodes) {
      if (k.nodeType === Node.TEXT_NODE) own.appendChild(document.createTextNode(seen(k.data)));
      else if (k.nodeType === Node.ELEMENT_NODE && shapes.includes(k.localName)) own.appendChild(copy(k));
    }
    return own;
  };
  const svg = copy(from.documentElement);
  svg.setAttribute('role', 'group'); // the parts of an image are hidden from screen readers
  return svg;
}

// ties shows the arrows of a box, and the boxes at their other ends; of none: no box.
export function ties(svg, ref) {
  const near = new Set();
  for (const p of svg.querySelectorAll('[data-from]')) {
    const [from, to] = [p.getAttribute('data-from'), p.getAttribute('data-to')];
    const on = ref === from || ref === to;
    p.classList.toggle('near', on);
    if (on) near.add(from).add(to);
  }
  for (const r of svg.querySelectorAll('rect[data-ref]')) r.classList.toggle('near', near.has(r.getAttribute('data-ref')));
}

// text is a text of somebody's, in its own direction.
export const text = (s, cls) => h('bdi', { class: cls, dir: 'auto' }, s);

export const short = (id) => (id || '').slice(-8);

export const link = (to, label, attrs) => h('a', { href: '#/' + to, ...attrs }, label);

// of is a link to a record, by its id.
export const of = (id, label) => (id ? link('show/' + encodeURIComponent(id), label || short(id), { class: 'mono' }) : '-');

// at is a time in the reader's zone, with UTC as its tooltip.
export function at(iso, whole) {
  const t = new Date(iso);
  if (!iso || isNaN(t)) return '-';
  const today = t.toDateString() === new Date().toDateString();
  const s = whole || !today ? t.toLocaleString() : t.toLocaleTimeString();
  return h('time', { datetime: t.toISOString(), title: t.toISOString().replace('T', ' ').replace('Z', ' UTC') }, s);
}

// span is a number of seconds for people.
export function span(s) {
  if (s === undefined || s === null) return '-';
  if (s < 1 && s > 0) return Math.max(1, Math.round(s * 1000)) + 'ms';
  if (s < 10 && s % 1) return s.toFixed(1) + 's';
  s = Math.floor(s);
  if (s < 60) return s + 's';
  if (s < 3600) return Math.floor(s / 60) + 'm' + (s % 60 ? ' ' + (s % 60) + 's' : '');
  if (s < 86400) return Math.floor(s / 3600) + 'h ' + Math.floor((s % 3600) / 60) + 'm';
  return Math.floor(s / 86400) + 'd ' + Math.floor((s % 86400) / 3600) + 'h';
}

// named gives a row its words as its name, and cells that are a bare number the name of their column: narrow screens
// show no head.
const named = (head, row) => {
  row.attrs['aria-label'] = spoken(row).replace(/\s+/g, ' ').trim().slice(0, 200);
  row.kids.forEach((cell, i) => {
    if (cell.kids.length === 1 && typeof cell.kids[0] === 'number') cell.attrs = { ...cell.attrs, 'data-name': head[i] };
  });
  return row;
};

// list is a table; its head names the columns.
export const list = (head, rows, empty) => (rows.length === 0 ? h('p', { class: 'quiet' }, empty || 'nothing')
  : h('div', { class: 'scroll' }, h('table', null, h('thead', null, h('tr', { 'aria-label': 'columns' }, head.map((t) => h('th', { scope: 'col' }, t)))), h('tbody', null, rows.map((r) => named(head, r))))));

// block is a text as its maker laid it out, with a name: it may have to be scrolled.
export const block = (name, attrs, ...kids) => h('pre', { role: 'group', 'aria-label': name, ...attrs }, ...kids);

export const tone = (s) => ({ achieved: 'good', complete: 'good', running: 'good', working: 'good', done: 'good', approve: 'good', approved: 'good', landed: 'good',
  failed: 'bad', terminated: 'bad', unreachable: 'bad', lost: 'bad', stopped: 'bad', Failure: 'bad',
  stalled: 'warn', degraded: 'warn', silent: 'warn', unhealthy: 'warn', unfit: 'warn', paused: 'warn', rejected: 'warn', feedback: 'warn', held: 'warn', awaiting_answer: 'warn' }[s] || '');

// patch is a diff, its lines in their colours. Lines of the commit's files can be asked about:
// those of a hunk that are in the commit, by file and number.
export const patch = (s, commit) => {
  let file = '', at = 0, was = 0, is = 0;
  return block('changes; arrow keys choose a line, Enter says who wrote it', { class: 'diff', tabindex: '0' }, s.split('\n').map((l) => {
    const attrs = {};
    const hunk = /^@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/.exec(l);
    if (was <= 0 && is <= 0) {
      if (hunk) [was, at, is] = [Number(hunk[1] ?? 1), Number(hunk[2]), Number(hunk[3] ?? 1)];
      else if (l.startsWith('+++ ')) file = l.startsWith('+++ b/') ? l.slice(6).replace(/\t$/, '') : ''; // a quoted name is none
      attrs.class = 'at';
    } else {
      if (l[0] === '+') attrs.class = 'add';
      else if (l[0] === '-') attrs.class = 'del';
      if (l[0] !== '+' && l[0] !== '\\') was--;
      if (l[0] !== '-' && l[0] !== '\\') {
        is--;
        if (file && commit) Object.assign(attrs, { tabindex: '-1', 'data-at': commit, 'data-file': file, 'data-line': at });
        at++;
      }
    }
    return h('span', attrs, l + '\n');
  }));
};
