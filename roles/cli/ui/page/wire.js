// The page's way to the server: the key, reads, acts, and the ledger as it grows.

const api = '/api/v1/';

// The tabs of this page hand the key on to a new one. Other ports are other origins, and
// hear nothing of it.
const tabs = new BroadcastChannel('sett');
let taken = () => {};
tabs.onmessage = ({ data }) => {
  const key = sessionStorage.getItem('sett-key');
  if (data.key && !key) {
    sessionStorage.setItem('sett-key', data.key);
    taken();
  } else if (data.wanted && key) prove().then(() => tabs.postMessage({ key }), () => {}); // a page of another server asks in vain
};

// enter takes the key from the address, and hides it. It stays with this tab. A tab
// without one asks the others, for a moment.
export async function enter() {
  const given = new URLSearchParams(location.hash.replace(/^#/, ''));
  const key = given.get('key');
  if (!key) {
    if (sessionStorage.getItem('sett-key')) return;
    const answered = new Promise((done) => { taken = done; setTimeout(done, 400); });
    tabs.postMessage({ wanted: true });
    await answered;
    return;
  }
  sessionStorage.setItem('sett-key', key);
  const goal = given.get('goal');
  history.replaceState(null, '', '/ui/#/' + (goal ? 'show/' + encodeURIComponent(goal) : 'now'));
}

const headers = (more) => ({ Authorization: 'Bearer ' + (sessionStorage.getItem('sett-key') || ''), ...more });

const address = (path, params) => {
  const q = new URLSearchParams();
  for (const [k, v] of Object.entries(params || {})) if (v !== '' && v !== undefined && v !== null) q.set(k, v);
  return api + path.split('/').map(encodeURIComponent).join('/') + (q.size ? '?' + q : '');
};

// Problem is an answer that is none.
export class Problem extends Error {
  constructor(status, body) {
    super(body.error || 'no answer');
    this.status = status;
    this.hint = body.hint;
  }
}

const hex = (b) => [...new Uint8Array(b)].map((x) => x.toString(16).padStart(2, '0')).join('');
const bytes = (s) => new TextEncoder().encode(s);
const gone = () => {
  proven = null;
  return new Problem(0, { error: 'the page’s server does not answer' });
};

// prove has the server show that it knows the key's hash. When a server ends, any program
// of this machine can take its port, and must not get the key.
async function prove() {
  const known = hex(await crypto.subtle.digest('SHA-256', bytes(sessionStorage.getItem('sett-key') || '')));
  const nonce = crypto.randomUUID();
  const r = await fetch('proof?' + new URLSearchParams({ key: known.slice(0, 16), nonce }), { credentials: 'omit', cache: 'no-store', redirect: 'error' }).catch(() => { throw gone(); });
  if (!r.ok) throw new Problem(r.status, await r.json().catch(() => ({})));
  const key = await crypto.subtle.importKey('raw', bytes(known), { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
  const want = hex(await crypto.subtle.sign('HMAC', key, bytes(nonce + ':' + (location.port || '80'))));
  if (await r.text() !== want) throw new Problem(0, { error: 'another program is at the page’s address' });
}

// proven is since the last time that the server did not answer. The server of a fresh page needs to
// prove nothing: another program in its place would have served a page of its own.
let proven = Promise.resolve();
const trust = () => (proven ||= prove().catch((e) => {
  proven = null;
  throw e;
}));

async function ask(url, init) {
  await trust();
  let r;
  try {
    r = await fetch(url, { credentials: 'omit', cache: 'no-store', redirect: 'error', ...init });
  } catch (e) {
    if (e.name === 'AbortError') throw e;
    throw gone();
  }
  if (!r.ok) throw new Problem(r.status, await r.json().catch(() => ({})));
  return r;
}

// get reads what a command prints.
export const get = async (path, params) => (await ask(address(path, params), { headers: headers() })).json();

// draw reads a picture.
export async function draw(path, params) {
  await trust();
  return new Promise((done, failed) => {
    const r = new XMLHttpRequest();
    r.open('GET', address(path, params));
    r.setRequestHeader('Authorization', headers().Authorization);
    r.responseType = 'document';
    r.onload = () => (r.status === 200 && r.responseXML ? done(r.responseXML) : failed(new Problem(r.status, { error: 'the picture could not be drawn' })));
    r.onerror = () => failed(gone());
    r.send();
  });
}

// act does what a command does. The same key never acts twice.
export const act = async (name, id, body, key) => (await ask(address(name + '/' + id), {
  method: 'POST', headers: headers({ 'Content-Type': 'application/json', 'Idempotency-Key': key }), body: JSON.stringify(body),
})).json();

const patience = 40000; // the server gives a sign of life every 15 s

// Stream follows the ledger from an entry on. It comes back by itself after a cut, where
// it was; while the page is hidden it rests. A browser opens few connections to one server: of a
// shared stream one tab has the connection, and tells the others; when it goes, another follows.
export class Stream {
  constructor(params, on, shared) {
    this.params = params;
    this.on = on; // open, entry, state, problem
    if (shared) {
      this.feed = new BroadcastChannel('sett-ledger');
      this.feed.onmessage = ({ data }) => this.heard(data);
    }
    this.last = '';
    this.wait = 200;
    this.seen = () => {
      if (!document.hidden) return this.start();
      proven = null; // nobody watches the server now
      this.rest();
    };
    document.addEventListener('visibilitychange', this.seen);
    this.start();
  }

  start() {
    if (this.over || this.now || document.hidden) return;
    clearTimeout(this.later);
    const control = this.now = new AbortController();
    const turn = this.feed ? this.turn(control) : this.follow(control);
    if (this.feed) this.feed.postMessage({ asks: true });
    turn.catch((e) => {
      if (this.over || this.now !== control) return;
      proven = null;
      this.on.state('old', e.message);
      if (e.status === 401) this.on.problem(e);
      else this.again();
    });
  }

  // turn follows at once, or when the tab that follows ends: perhaps because the server did.
  async turn(control) {
    const free = await navigator.locks.request('sett-ledger', { ifAvailable: true }, (lock) => lock && this.follow(control).then(() => true));
    if (free || control.signal.aborted) return;
    await navigator.locks.request('sett-ledger', { signal: control.signal }, () => {
      proven = null;
      return this.follow(control);
    });
  }

  // heard takes word from another tab.
  heard({ asks, call, args, last }) {
    if (asks) {
      if (this.said) this.feed.postMessage(this.said);
    } else if (!this.over && !document.hidden) {
      if (last) this.last = last;
      this.on[call](...args);
    }
  }

  // say tells this tab, and the others.
  say(call, ...args) {
    const word = { call, args, last: this.last };
    if (this.feed) this.feed.postMessage(word);
    if (call === 'state') this.said = word; // for a tab that comes later
    this.on[call](...args);
  }

  again() {
    this.now = null;
    clearTimeout(this.later);
    this.later = setTimeout(() => this.start(), this.wait);
    this.wait = Math.min(this.wait * 2, 2000);
  }

  rest() {
    if (this.now) this.now.abort();
    this.now = null;
  }

  close() {
    this.over = true;
    document.removeEventListener('visibilitychange', this.seen);
    clearTimeout(this.later);
    this.rest();
  }

  async follow(control) {
    let alive;
    const sign = () => {
      clearTimeout(alive);
      alive = setTimeout(() => control.abort(), patience);
    };
    sign();
    try {
      const more = { Accept: 'text/event-stream' };
      if (this.last) more['Last-Event-ID'] = this.last;
      const r = await ask(address('watch', this.params), { headers: headers(more), signal: control.signal });
      const reader = r.body.pipeThrough(new TextDecoderStream()).getReader();
      this.say('open');
      this.say('state', 'live');
      let rest = '';
      for (;;) {
        const { done, value } = await reader.read();
        if (done) throw gone();
        sign();
        rest += value;
        const all = rest.split('\n\n');
        rest = all.pop();
        all.forEach((m) => this.message(m));
      }
    } finally {
      clearTimeout(alive);
      this.said = null;
    }
  }

  message(m) {
    let id = '', kind = 'entry', data = '';
    for (const line of m.split('\n')) {
      if (line.startsWith('id: ')) id = line.slice(4);
      else if (line.startsWith('event: ')) kind = line.slice(7);
      else if (line.startsWith('data: ')) data += line.slice(6);
    }
    if (!data) return;
    const v = JSON.parse(data);
    if (kind === 'entry') {
      this.last = id;
      this.wait = 200;
      this.say('entry', v);
    } else if (kind === 'away') this.say('state', 'old', v.says);
    else if (kind === 'back') {
      this.say('state', 'live');
      this.say('open');
    } else if (kind === 'end') throw new Problem(0, v);
  }
}
