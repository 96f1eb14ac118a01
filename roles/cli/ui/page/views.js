// The views: each reads its values and says what the page shows of them. What they show
// is what the commands of sett print.

import { h, text, link, of, at, span, list, block, tone, patch, picture, short } from './dom.js';
import { get, draw } from './wire.js';

const status = (s) => h('span', { class: tone(s) }, s.replaceAll('_', ' '));
const mostRows = 300; // of a ledger, at once

// toLand is ToLand of roles/view.
const toLand = ({ id, status: is, landing: l }) => {
  const word = (s) => (/^[\w%+,./:=@-]+$/.test(s) ? s : "'" + s.replaceAll("'", "'\\''") + "'");
  if (l && l.state === 'landed') return h('p', null, 'Branch ', text(l.branch), ' has its commit');
  const waits = l && l.people && is === 'active';
  return h('p', null, 'To bring its commit to ', waits ? ['branch ', text(l.branch)] : 'your branch', ': ', h('code', null, 'sett land ' + short(id) + (waits ? ' --onto ' + word(l.branch) : '')));
};

const first = (s) => (s || '').split('\n')[0];
const line = (s, n = 160) => (first(s).length > n ? first(s).slice(0, n) + '…' : first(s));

// since is how long something has lasted, as it was read so many seconds ago, perhaps of a time that it may last.
const since = (page, age, most) => h('span', { 'data-age': most ? 'of' : 'yes' }, span(Math.max(0, age + Math.floor((Date.now() - page.read) / 1000))) + (most ? ' of ' + span(most) : ''));
// bound is the number of seconds that a wait may last.
const bound = (w) => (w && w.until ? (new Date(w.until) - new Date(w.since)) / 1000 : (w && w.limit_seconds) || 0);

// obstacles are the heads of what waits for a person and is settled on the command line alone.
const obstacles = { landing: ' cannot land', bid: ' cannot bid', model: ' waits for its model' };
// about says what a form acts on: its type, its maker and its goal.
const about = (type, maker, goal) => type + ' of ' + maker + (goal ? ', goal: ' + line(goal, 120) : '');
// unsent keeps words that were typed about an artefact which somebody else has settled meanwhile.
const unsent = (page, form, d, how) => h('article', { class: 'card', key: 'unsent-' + form, 'aria-label': 'not sent' },
  h('div', null, h('strong', null, text(d.about.says)), ' ', of(d.about.id, 'show it')), h('p', { class: 'warn' }, text(how || 'It does not wait any more.'), ' Your words were not sent:'),
  block('what you typed', { dir: 'auto' }, d.text), h('div', { class: 'row' }, h('button', { type: 'button', onclick: () => page.drop(form) }, 'Drop them')));
// settled says who has settled an artefact, and how; empty: nobody did.
const settled = async (shown) => {
  const by = (who, how, says) => (who || 'Somebody') + ' ' + how + ' it' + (says ? ': ' + line(says) : '.');
  if (shown.gate) return shown.gate.state === 'held' ? '' : by(shown.gate.by, shown.gate.state, shown.gate.says);
  const answer = shown.children.find((c) => c.structural_type === 'Answer');
  return answer ? by(answer.metadata.by, 'answered', (await get('show/' + answer.id)).excerpt) : '';
};
// left are the words of forms that are gone, since somebody else has settled what they are about.
const left = (page, gone) => Promise.all(page.unsent().filter(([form, d]) => gone(form, d.about.id)).map(async ([form, d]) => (
  { form, d, how: await get('show/' + d.about.id).then(settled).catch(() => '') })));

// matter is a question, a gate, a landing, a bid or a model, with what settles it.
const matter = (page, m) => h('article', { class: 'card ask', key: m.id, 'data-row': '', tabindex: '0', 'aria-label': m.kind + ' of ' + (m.agent || m.role || 'sett') },
  h('div', { class: 'row' }, h('strong', null, m.kind === 'question' ? text(m.agent || m.role) : text(m.about.type)), h('span', { class: 'quiet' },
    m.kind === 'question' ? 'asks' : 'of ', m.kind === 'question' ? '' : text(m.agent || m.role || 'you'), m.kind === 'question' ? '' : obstacles[m.kind] || ' waits for approval', ', ', since(page, m.age_seconds))),
  m.goal ? h('div', { class: 'quiet' }, 'goal ', of(m.workflow_id), ' ', text(line(m.goal))) : null,
  block('what it says', { dir: 'auto' }, m.text),
  obstacles[m.kind] ? block('what settles it', { dir: 'auto' }, m.commands.join('\n')) : m.kind === 'question'
    ? page.form('answer', m.id, { label: 'Your answer', about: (m.agent || m.role) + ' asks: ' + line(m.text), needs: true, buttons: [{ label: 'Answer', act: 'answer', class: 'do' }] })
    : [h('div', null, of(m.id, 'show it')), page.form('gate', m.id, { label: 'What is wrong with it', about: about(m.about.type, m.agent || m.role || 'you', m.goal), buttons: [
      { label: 'Approve', act: 'approve', class: 'do', silent: true, asks: 'Its claim opens, or its goal ends with it. This cannot be taken back.' }, { label: 'Reject', act: 'reject', class: 'stop', needs: true }] })]);

const waits = (page, all) => list(['for', 'who', 'what', 'goal'], (all || []).map((w) => h('tr', { key: w.what + w.subject_id + (w.agent || '') },
  h('td', { class: 'tight' }, w.what), h('td', null, text(w.agent || '')), h('td', null, text(w.text)),
  h('td', { class: 'tight' }, of(w.workflow_id), ' ', h('span', { class: 'quiet' }, since(page, w.age_seconds, bound(w)))))), 'nothing is waited for');

export const now = {
  title: 'Now',
  ticks: true, // it has times that go on
  async load(page) {
    const [instances, questions, failed, models] = await Promise.all([get('list'), get('questions'), get('goals', { status: 'failed', limit: 5 }), get('models', { limit: 20 })]);
    const instance = instances.instances[0] || {};
    const busy = (instance.agents_detail || []).filter((a) => a.works.length).slice(0, 12);
    const said = {};
    await Promise.all(busy.map(async (a) => {
      const l = await get('logs/' + a.name, { lines: 20, claim: a.works[0].claim_id }).catch(() => ({ lines: [] }));
      const own = l.lines.filter((x) => x.attributes && x.attributes.source === 'tool'); // the rest is of Sett's own cub
      said[a.name] = own.length ? own[own.length - 1].attributes.line : '';
    }));
    const waits = new Set(questions.questions.map((m) => m.id));
    const unanswered = await left(page, (form, id) => !form.startsWith('review') && !waits.has(id));
    return { instance, questions: questions.questions, unanswered, failed: failed.goals, models, said };
  },
  draw(page, { instance, questions, unanswered, failed, models, said }) {
    const agents = instance.agents_detail || [];
    return [
      h('h1', null, text(instance.name || ''), ' is ', status(instance.state || 'unknown'),
        h('span', { class: 'quiet' }, instance.stopping ? ', it takes no new work' : '')),
      instance.refuses_writes ? h('p', { class: 'bad' }, 'the blackboard refuses writes: ', text(instance.refuses_writes)) : null,
      instance.nobody_leads ? h('p', { class: 'bad' }, text(instance.nobody_leads)) : null,
      instance.notifier ? h('p', { class: 'bad' }, 'people are not notified: ', text(instance.notifier.unfit || instance.notifier.error)) : null,
      instance.ledger_lost ? h('p', { class: 'bad' }, 'it is not the blackboard of before: ', instance.ledger_lost) : null,
      h('section', { 'aria-label': 'what needs you' }, h('h2', null, 'Needs you'),
        unanswered.filter((x) => page.drafts.get(x.form) === x.d).map((x) => unsent(page, x.form, x.d, x.how)),
        questions.length ? h('div', { class: 'cards' }, questions.map((m) => matter(page, m))) : h('p', { class: 'quiet' }, 'nobody asks, and nothing waits for approval')),
      h('section', { 'aria-label': 'agents' }, h('h2', null, 'Agents'), list(['agent', 'state', 'works on', 'queued', 'bids due'], agents.map((a) => h('tr', { key: a.name, 'data-row': '', tabindex: '0' },
        h('td', null, text(a.name)), h('td', { class: a.works.length ? 'live' : null }, status(a.state)),
        h('td', null, a.concurrency > 1 && a.works.length ? h('div', { class: 'quiet' }, a.works.length, ' of ', a.concurrency, ' running') : null, a.works.map((w) => h('div', null, of(w.claim_id), w.attempt > 1 ? ', attempt ' + w.attempt + ',' : '', ' for ',
          since(page, w.age_seconds, bound((instance.waits || []).find((x) => x.what === 'result' && x.agent === a.name && x.subject_id === w.claim_id))))),
          said[a.name] ? h('div', { class: 'mono quiet' }, text(line(said[a.name], 200))) : null),
        h('td', null, a.queued), h('td', null, a.bids_due))), 'no agents')),
      h('section', { 'aria-label': 'waits' }, h('h2', null, 'Waits'), waits(page, instance.waits), instance.waits_more ? h('p', { class: 'quiet' }, 'and ', instance.waits_more, ' more') : null),
      models.goals.length || models.paused ? h('section', { 'aria-label': 'models' }, h('h2', null, 'Models', models.paused ? h('span', { class: 'warn' }, ' are stopped') : ''),
        list(['goal', 'calls', 'tokens', 'cost', 'budget'], models.goals.slice(-8).reverse().map((g) => h('tr', { key: g.workflow_id }, h('td', null, of(g.workflow_id)), h('td', null, g.calls),
          h('td', null, g.tokens), h('td', null, g.cost), h('td', null, Object.entries(g.budget || {}).map(([k, v]) => k + ' ' + v).join(', ') || '-'))))) : null,
      failed.length ? h('section', { 'aria-label': 'failures' }, h('h2', null, 'Failed'), list(['goal', 'ended', ''], failed.slice().reverse().map((g) => h('tr', { key: g.id, 'data-row': '', tabindex: '0' },
        h('td', null, of(g.id), ' ', text(line(g.text))), h('td', null, at(g.ended_at)), h('td', null, page.button('retry', g.id, 'Retry')))))) : null,
    ];
  },
};

export const goals = {
  title: 'Goals',
  ticks: true,
  async load(page) {
    const limit = page.params.get('limit') || 50;
    const [all, models] = await Promise.all([get('goals', { status: page.params.get('status'), limit }), get('models', { limit })]);
    return { ...all, spent: new Map(models.goals.map((g) => [g.workflow_id, g.cost])) };
  },
  draw(page, { goals: all, more, spent }) {
    const q = (page.params.get('q') || '').toLowerCase();
    const shown = all.filter((g) => !q || g.text.toLowerCase().includes(q) || g.id.toLowerCase().includes(q)).reverse();
    return [
      h('h1', null, 'Goals'),
      h('div', { class: 'row' },
        page.filter('status', 'Status', ['', 'active', 'achieved', 'failed', 'stalled']),
        page.filter('q', 'Search'), page.filter('limit', 'Newest', ['50', '200', '1000'])),
      list(['id', 'status', 'age', 'outstanding', ...(spent.size ? ['cost'] : []), 'goal'], shown.map((g) => h('tr', { key: g.id, 'data-row': '', tabindex: '0' },
        h('td', { class: 'tight' }, of(g.id)), h('td', { class: 'tight' }, status(g.status), g.questions ? h('span', { class: 'warn' }, ' ', g.questions, ' asked') : '', g.gates ? h('span', { class: 'warn' }, ' ', g.gates, ' held') : ''),
        h('td', { class: 'tight' }, since(page, g.age_seconds)), h('td', null, g.outstanding),
        spent.size ? h('td', { class: 'tight' }, spent.get(g.id) ?? '-') : null, h('td', null, text(line(g.text, 300))))), 'no goals'),
      more ? h('p', { class: 'quiet' }, 'there are older ones') : null,
    ];
  },
};

const tabs = (page, all) => {
  const on = all.includes(page.params.get('tab')) ? page.params.get('tab') : all[0];
  return [on, h('nav', { class: 'tabs', 'aria-label': 'parts' }, all.map((t, i) => link(page.here({ tab: i ? t : '' }), t, { 'aria-current': t === on ? 'page' : null, 'data-tab': i + 1 })))];
};

const brief = (a) => [of(a.id), ' ', text(a.type), a.version > 1 ? ' v' + a.version : '', ' ', h('span', { class: 'quiet' }, 'by ', text(a.by || a.produced_by_agent || a.produced_by_role))];

const commits = (all) => all.map((c) => h('details', { key: c.hash + c.artefact_id }, h('summary', null, h('code', null, c.hash.slice(0, 12)), ' ', text(c.subject || ''), ' ', h('span', { class: 'quiet' }, text(c.author || ''), ' for '), of(c.artefact_id)),
  list(['file', '+', '-'], (c.files || []).map((f) => h('tr', { key: f.path }, h('td', { class: 'mono' }, text(f.path)), h('td', { class: 'add' }, f.binary ? 'binary' : f.added), h('td', { class: 'del' }, f.deleted)))),
  c.patch ? patch(c.patch, c.hash) : null, c.patch_cut ? h('p', { class: 'quiet' }, 'the patch is longer: sett unearth ', short(c.artefact_id), ' --diff') : null));

const grant = (g) => [g.phase, ' ', text(g.agent), ': ', status(g.state), g.verdict ? [', ', status(g.verdict)] : '', g.took_seconds !== undefined ? ', ' + span(g.took_seconds) : '',
  g.result_id ? [' → ', of(g.result_id)] : '', g.says ? [' ', text(line(g.says))] : '', g.reason ? h('span', { class: 'warn' }, ' ', text(g.reason)) : '',
  (g.models || []).map((m) => h('div', { class: 'quiet' }, text(m.model), ', ', m.calls, m.calls === 1 ? ' call' : ' calls', ', cost ', m.cost)),
  (g.questions || []).map((q) => h('div', null, 'asked ', of(q.id), ' ', text(line(q.says)), q.answer ? [' — ', text(q.by || ''), ': ', text(line(q.answer))] : ''))];

const bid = (b) => h('div', null, text(b.agent), ' ', b.bid, b.rule ? h('span', { class: 'quiet' }, ' by the rule ', text(b.rule)) : '', b.reason ? h('span', { class: 'quiet' }, ' ', text(b.reason)) : '');

// step is a claim of the story.
const step = (s, i) => h('article', { class: 'card', key: (s.claim ? s.claim.id : 's') + i, 'data-row': '', tabindex: '0',
  'aria-label': s.claim ? s.claim.target.type + ' ' + short(s.claim.id) + ', ' + s.claim.status.replaceAll('_', ' ') : s.artefact ? s.artefact.type + ' ' + short(s.artefact.id) : 'unreadable' },
  s.claim ? [h('div', null, h('strong', null, text(s.claim.target.type)), ' ', of(s.claim.id), ' ', status(s.claim.status), ' ', h('span', { class: 'quiet' }, text(s.claim.because), s.claim.reason ? [', ', text(s.claim.reason)] : '')),
    h('dl', null,
      s.claim.bids.length ? [h('dt', null, 'bids'), h('dd', null, s.claim.bids.map(bid))] : null,
      s.claim.grants.length ? [h('dt', null, 'grants'), h('dd', null, s.claim.grants.map((g) => h('div', null, grant(g))))] : null,
      s.claim.feedback.length ? [h('dt', null, 'feedback'), h('dd', null, s.claim.feedback.map((r) => h('div', null, brief(r), ' ', text(line(r.says)))))] : null,
      s.claim.cancelled ? [h('dt', null, 'cancelled'), h('dd', null, text(s.claim.cancelled.by), ': ', text(s.claim.cancelled.why))] : null,
      s.claim.retry_of ? [h('dt', null, 'tries again'), h('dd', null, of(s.claim.retry_of), ' ', text(s.claim.retried_by || ''), ' ', text(s.claim.retry_why || ''))] : null)] : null,
  s.unreadable ? h('p', { class: 'bad' }, text(s.unreadable)) : null,
  s.artefact ? h('div', null, '→ ', brief(s.artefact), ' ', text(line(s.artefact.says)), s.gate ? h('span', { class: tone(s.gate.state) }, ' ', s.gate.state, s.gate.by ? [' by ', text(s.gate.by)] : '') : '') : null);

// origin says who wrote a line.
export const origin = ({ file, lines, origins: [o] }) => [
  h('h2', null, o.by === 'agent' ? text(o.artefact.produced_by_agent || o.artefact.produced_by_role) : o.by === 'person' ? text(o.author || 'a person') : 'not committed', h('span', { class: 'quiet' }, ' wrote line ', lines[0].line, ' of ', text(file))),
  block('the line', { dir: 'auto' }, lines[0].text),
  h('dl', null,
    o.commit ? [h('dt', null, 'commit'), h('dd', null, h('code', null, o.commit.slice(0, 12)), ' ', text(o.subject || ''), o.date ? [' ', at(o.date)] : '')] : null,
    o.artefact ? [h('dt', null, 'artefact'), h('dd', null, text(o.artefact.type), ' ', of(o.artefact.id), ' ', h('span', { class: 'quiet' }, 'known by its ', o.known_by))] : null,
    (o.reviewers || []).length ? [h('dt', null, 'reviewed'), h('dd', null, o.reviewers.map((r) => h('div', null, text(r.by), ' ', status(r.verdict), r.says ? [': ', text(line(r.says))] : '')))] : null,
    o.artefact ? [h('dt', null, 'goal'), h('dd', null, of(o.artefact.workflow_id), ' ', text(line(o.goal)))] : h('dt', null, 'no artefact brought this commit'),
    (o.models || []).length ? [h('dt', null, 'models'), h('dd', null, o.models.map((m) => h('div', null, text(m.model), ', ', m.calls, ' calls, cost ', m.cost)))] : null)];

// story is the steps of a goal, of many the last ones.
function story(page, steps) {
  const most = page.params.get('all') ? steps.length : 200;
  const left = Math.max(0, steps.length - most);
  return [left ? h('p', null, h('button', { type: 'button', onclick: () => page.go(page.here({ all: 'yes' }), true) }, 'Show ' + left + ' earlier steps')) : null,
    h('div', { class: 'cards', key: 'cards' }, steps.slice(left).map((s, i) => step(s, left + i)))];
}

// entries are lines of a goal's ledger, up to the one that the slider is at.
const entries = (page, all) => {
  const to = page.params.get('to') ? Math.min(Number(page.params.get('to')) || 0, all.length) : all.length;
  return [
    h('div', { class: 'row' }, h('label', { for: 'replay' }, 'Replay'), h('input', { id: 'replay', type: 'range', min: 0, max: all.length, value: to, 'aria-valuetext': to + ' of ' + all.length,
      oninput: (e) => page.go(page.here({ to: Number(e.target.value) === all.length ? '' : e.target.value }), true) }), h('span', { class: 'quiet' }, to + ' of ' + all.length)),
    list(['time', 'kind', 'who', 'what'], all.slice(Math.max(0, to - mostRows), to).reverse().map((e) => h('tr', { key: e.id, 'data-row': '', tabindex: '0' },
      h('td', null, at(e.time)), h('td', { class: e.tone || null }, e.kind), h('td', null, text(e.by)), h('td', null, text(e.says)))))];
};

// someWaits are waits of a goal: of many the first ones, so that the rest of it is in reach.
function someWaits(page, { waits: all, waits_more: unread }) {
  const most = page.params.get('all') ? all.length : 8;
  const left = Math.max(0, all.length - most);
  return [waits(page, all.slice(0, most)), left ? h('p', { key: 'more-waits' }, h('button', { type: 'button', onclick: () => page.go(page.here({ all: 'yes' }), true) }, 'Show ' + left + ' more')) : null,
    unread ? h('p', { class: 'quiet' }, left ? 'and ' : '', unread, ' more are not listed') : null];
}

const parts = ['timeline', 'graph', 'result', 'story', 'ledger'];

// timeline is the goal's work over time, as wide as its reader wants.
function timeline(page, svg) {
  const zoom = Math.min(Math.max(Number(page.params.get('zoom')) || 1, 1), 64);
  svg.setAttribute('width', 960 * zoom);
  const to = (by, label) => h('button', { type: 'button', 'data-zoom': label, 'aria-label': by > 1 ? 'closer' : 'farther', onclick: () => page.go(page.here({ zoom: zoom * by > 1 ? Math.min(zoom * by, 64) : '' }), true) }, label);
  return [h('div', { class: 'row' }, to(0.5, '-'), to(2, '+'), h('span', { class: 'quiet' }, zoom > 1 ? zoom + ' times as wide' : '')),
    h('figure', { class: 'time', 'aria-label': 'the goal’s work over time' }, svg)];
}

const tabOf = (page) => (parts.includes(page.params.get('tab')) ? page.params.get('tab') : parts[0]);
const drawnTab = (tab) => tab === 'timeline' || tab === 'graph';
const read = { result: 'outcome,people,commits,models,lacks', story: 'steps,lacks', ledger: 'ledger,lacks' }; // of a report
const goal = {
  async load(page, id, shown) {
    const tab = tabOf(page);
    if (drawnTab(tab)) return { shown, svg: picture(await draw('report/' + id, { output: tab })), tab };
    return { shown, report: await get('report/' + id, { only: read[tab], 'no-patches': tab === 'result' ? '' : 'true' }), tab };
  },
  draw(page, { shown, report, svg, tab }) {
    const [on, nav] = tabs(page, parts);
    const w = shown.workflow;
    const body = {
      timeline: () => timeline(page, svg),
      graph: () => h('figure', { 'aria-label': 'what was made from what' }, svg),
      result: () => [
        report.outcome ? [h('h2', null, brief(report.outcome)), block('the result', { dir: 'auto' }, report.outcome.excerpt)] : h('p', { class: 'quiet' }, 'no final result yet'),
        report.outcome && report.outcome.commit && report.outcome.structural_type !== 'Failure' ? toLand(w) : null,
        report.commits.length ? [h('h2', null, 'Commits'), commits(report.commits)] : null,
        report.models.length ? [h('h2', null, 'Models'), list(['agent', 'model', 'calls', 'cost'], report.models.map((m) => h('tr', { key: m.agent + m.model }, h('td', null, text(m.agent)), h('td', null, text(m.model)), h('td', null, m.calls), h('td', null, m.cost))))] : null,
        report.people.length ? [h('h2', null, 'People'), list(['time', 'person', 'did', 'said'], report.people.map((d, i) => h('tr', { key: 'p' + i }, h('td', null, at(d.time)), h('td', null, text(d.by)), h('td', null, d.kind), h('td', null, text(d.says)))))] : null],
      story: () => story(page, report.steps),
      ledger: () => entries(page, report.ledger),
    }[on];
    return [
      h('h1', null, text(line(shown.text, 300))),
      first(shown.text) !== shown.text.trim() ? h('details', null, h('summary', null, 'whole text'), block('whole text', { dir: 'auto' }, shown.text)) : null,
      h('div', { class: 'row' }, status(w.status), h('span', { class: 'mono quiet' }, w.id), h('span', { class: 'quiet' }, 'since ', at(w.created_at), w.ended_at ? [', ended ', at(w.ended_at)] : [', ', w.outstanding, ' outstanding']),
        w.status === 'active' ? page.button('cancel', w.id, 'Cancel the goal') : null, w.status === 'failed' ? page.button('retry', w.id, 'Retry') : null),
      shown.outcome ? h('p', null, text(line(shown.outcome, 400))) : null,
      shown.waits.length ? someWaits(page, shown) : null,
      report && report.lacks.length ? h('p', { class: 'warn' }, 'could not be read: ', text(report.lacks.join('; '))) : null,
      nav, on === tab ? body() : h('p', { class: 'quiet' }, 'is read…'),
    ];
  },
};

const biggest = 256 << 10; // bytes of a payload that the page shows

const artefact = {
  async load(page, id, shown) {
    const a = shown.artefact;
    const [whole, why, bids, logs] = await Promise.all([
      a.payload_size <= biggest ? get('unearth/' + id, a.commit ? { diff: 'true' } : {}).catch((e) => ({ payload: '', commit_error: e.message })) : null,
      get('why/' + id).catch(() => ({ steps: [] })),
      shown.claim ? reasons(shown.claim) : [],
      a.claim_id ? get('logs/' + a.claim_id, { lines: 50 }).catch(() => ({ lines: [] })) : { lines: [] },
    ]);
    const waits = (shown.gate && shown.gate.state === 'held') || (a.structural_type === 'Question' && !shown.children.length) || (shown.claim && shown.claim.claim.status === 'pending_review');
    return { shown, whole, why, bids, logs, unanswered: waits ? [] : await left(page, (form, of) => of === a.id) };
  },
  draw(page, { shown, whole, why, bids, logs, unanswered }) {
    const a = shown.artefact;
    const claim = shown.claim && shown.claim.claim;
    const what = about(a.type, a.produced_by_agent || a.produced_by_role);
    return [
      h('h1', null, text(a.type), a.version > 1 ? ' v' + a.version : ''),
      h('dl', null,
        h('dt', null, 'id'), h('dd', { class: 'mono' }, a.id), h('dt', null, 'is a'), h('dd', null, status(a.structural_type)),
        h('dt', null, 'made by'), h('dd', null, text(a.produced_by_agent || a.produced_by_role), ', ', at(a.created_at)),
        a.summary ? [h('dt', null, 'summary'), h('dd', null, text(a.summary))] : null,
        h('dt', null, 'goal'), h('dd', null, of(a.workflow_id)),
        a.claim_id ? [h('dt', null, 'made under'), h('dd', null, of(a.claim_id))] : null,
        h('dt', null, 'from'), h('dd', null, shown.sources.length ? shown.sources.map((s) => h('div', null, brief(s))) : 'nothing'),
        shown.children.length ? [h('dt', null, 'made of it'), h('dd', null, shown.children.map((s) => h('div', null, brief(s))))] : null,
        h('dt', null, 'payload'), h('dd', null, a.payload_size, ' bytes, SHA-256 ', h('span', { class: 'mono' }, a.payload_sha256))),
      shown.gate ? h('p', { class: tone(shown.gate.state) }, shown.gate.state, shown.gate.by ? [' by ', text(shown.gate.by)] : '', shown.gate.says ? [': ', text(shown.gate.says)] : '') : null,
      unanswered.filter((x) => page.drafts.get(x.form) === x.d).map((x) => unsent(page, x.form, x.d, x.how)),
      shown.gate && shown.gate.state === 'held' ? page.form('gate', a.id, { label: 'What is wrong with it', about: what, buttons: [
        { label: 'Approve', act: 'approve', class: 'do', silent: true, asks: 'Its claim opens, or its goal ends with it. This cannot be taken back.' }, { label: 'Reject', act: 'reject', class: 'stop', needs: true }] }) : null,
      a.structural_type === 'Question' && !shown.children.length ? page.form('answer', a.id, { label: 'Your answer', about: what, needs: true, buttons: [{ label: 'Answer', act: 'answer', class: 'do' }] }) : null,
      a.structural_type === 'Failure' ? h('p', null, page.button('retry', a.id, 'Retry')) : null,
      claim && claim.status === 'pending_review' ? page.form('review', a.id, { label: 'Your review: what is wrong with it', about: what, buttons: [
        { label: 'Approve', act: 'review', class: 'do', silent: true, body: { approve: true }, asks: 'Your review counts, and cannot be taken back.' }, { label: 'Give feedback', act: 'review', class: 'stop', needs: true }] }) : null,
      h('h2', null, 'Payload'), payload(a, whole),
      claim ? [h('h2', null, 'The claim on it'), claimPart(page, shown.claim, bids)] : null,
      why.steps.length ? [h('h2', null, 'How it came to be'), h('div', { class: 'cards' }, why.steps.map(step))] : null,
      logs.lines.length ? [h('h2', null, 'Log of the claim that made it'), block('log', { tabindex: '0' }, logs.lines.map((l) => l.part + '  ' + l.message + '\n'))] : null,
    ];
  },
};

// payload shows a payload as what it is.
function payload(a, whole) {
  if (!whole) return h('p', { class: 'quiet' }, 'it is large: ', h('code', null, 'sett unearth ' + short(a.id)));
  let body = whole.payload;
  try {
    const v = JSON.parse(body);
    if (a.structural_type === 'Failure' && v && typeof v === 'object') {
      return [h('p', { class: 'bad' }, text(v.reason || '')), h('p', { class: 'quiet' }, 'exit code ', v.exit_code), v.stderr ? block('what it wrote to stderr', { tabindex: '0' }, v.stderr) : null, v.stdout ? block('what it wrote to stdout', { tabindex: '0' }, v.stdout) : null];
    }
    if (v && typeof v === 'object') body = JSON.stringify(v, null, 2);
  } catch { /* it is a text */ }
  return [
    whole.commit ? commits([{ ...whole.commit, artefact_id: a.id }]) : null,
    whole.commit_error ? h('p', { class: 'warn' }, text(whole.commit_error)) : null,
    whole.commit && body.trim() === whole.commit.hash ? null : block('payload', { dir: 'auto', tabindex: '0' }, body),
  ];
}

// reasons are the bids of a claim, with what each agent says about its own.
const reasons = async (c) => {
  const why = await get('why/' + c.claim.id).catch(() => ({ steps: [] }));
  return why.steps.find((s) => s.claim && s.claim.id === c.claim.id)?.claim.bids || [];
};

const claimPart = (page, c, bids) => [
  h('dl', null, h('dt', null, 'id'), h('dd', { class: 'mono' }, c.claim.id), h('dt', null, 'is'), h('dd', null, status(c.claim.status), c.claim.reason ? [', ', text(c.claim.reason)] : ''),
    h('dt', null, 'on'), h('dd', null, of(c.claim.artefact_id), ' ', text(c.claim.target.type), c.claim.target.version > 1 ? ' v' + c.claim.target.version : ''),
    h('dt', null, 'opened'), h('dd', null, at(c.claim.opened_at), c.claim.closed_at ? [', closed ', at(c.claim.closed_at)] : ''),
    h('dt', null, 'bids'), h('dd', null, c.bids.length ? (bids.length ? bids : c.bids).map(bid) : 'none'),
    h('dt', null, 'grants'), h('dd', null, c.grants.length ? c.grants.map((g) => h('div', null, grant(g), ', attempt ', g.attempt)) : 'none')),
  c.waits.length ? waits(page, c.waits) : null,
  ['complete', 'terminated'].includes(c.claim.status) ? null : h('p', null, page.button('cancel', c.claim.id, 'Cancel the claim')),
  (c.rework_chain || []).length ? h('p', { class: 'quiet' }, 'versions: ', c.rework_chain.map((v) => [' v' + v.version + ' ', of(v.artefact_id), v.status ? [' ', status(v.status)] : ''])) : null,
];

const claim = {
  async load(page, id, shown) {
    const [bids, logs] = await Promise.all([reasons(shown), get('logs/' + shown.claim.id, { lines: 50 }).catch(() => ({ lines: [] }))]);
    return { shown, bids, logs };
  },
  draw: (page, { shown, bids, logs }) => [h('h1', null, 'Claim on ', text(shown.claim.target.type)), h('p', null, 'goal ', of(shown.claim.workflow_id)), claimPart(page, shown, bids),
    logs.lines.length ? [h('h2', null, 'Log'), block('log', { tabindex: '0' }, logs.lines.map((l) => l.part + '  ' + l.message + '\n'))] : null],
};

// show is a goal, a claim or an artefact, by its id.
export const show = {
  title: 'Show',
  async load(page, early) {
    const id = page.id;
    const shown = await get('show/' + id, { 'no-claims': 'true' });
    const as = { goal, claim }[shown.kind] || artefact;
    if (as === goal) early({ as, data: { shown } }); // its state, before its picture
    return { as, data: await as.load(page, id, shown) };
  },
  draw: (page, { as, data }) => as.draw(page, data),
  goesOn: (page, { as, data }) => as === goal && data.tab === 'timeline' && data.shown.workflow.status === 'active', // its end is now
};

export const clan = {
  title: 'Clan',
  still: true, // its count reads the whole ledger: it is of when the view was opened
  async load(page, early) {
    const read = async (more) => {
      const [plan, svg] = await Promise.all([get('plan', more), draw('plan', { output: 'svg', ...more })]);
      return { plan, svg: picture(svg) };
    };
    const counted = read({ walked: 'true' });
    const slow = setTimeout(() => read({}).then(early, () => {}), 300); // of a long ledger the plan comes before its count
    return counted.finally(() => clearTimeout(slow));
  },
  draw: (page, { plan, svg }) => [
    h('h1', null, 'The clan'),
    h('figure', { 'aria-label': 'the plan as a picture' }, svg),
    h('h2', null, 'Walked'), !plan.walked ? h('p', { class: 'quiet' }, 'the ledger is counted…') : [h('p', { class: 'quiet' }, plan.walked.goals, plan.walked.goals === 1 ? ' goal' : ' goals', plan.walked.since ? [' since ', at(plan.walked.since)] : '', '; r counts anew'),
    list(['type', 'phase', 'agent', 'times', 'each', 'at most', 'failed', 'asked', 'rejected', 'makes'], plan.walked.arrows.map((a) => h('tr', { key: 'w' + a.type + ' ' + a.phase + ' ' + a.agent, 'data-row': '', tabindex: '0' }, h('td', null, text(a.type)), h('td', null, a.phase),
      h('td', null, text(a.agent)), h('td', null, a.times), h('td', null, span(a.seconds / a.times)), h('td', null, span(a.longest_seconds)), h('td', { class: a.failed ? 'bad' : null }, a.failed), h('td', null, a.asked), h('td', null, a.rejected),
      h('td', null, text(a.makes.map((m) => m.type + ' ' + m.times).join(', '))))), 'nobody has worked yet'),
    plan.walked.gates.length ? list(['gate', 'approved', 'rejected', 'each', 'at most'], plan.walked.gates.map((g) => h('tr', { key: 'g' + g.type }, h('td', null, text(g.type)), h('td', null, g.approved), h('td', null, g.rejected),
      h('td', null, span(g.seconds / (g.approved + g.rejected))), h('td', null, span(g.longest_seconds))))) : null],
    h('h2', null, 'Agents'),
    list(['agent', 'adapter', 'makes', 'model'], plan.agents.map((a) => h('tr', { key: a.agent, 'data-row': '', tabindex: '0' }, h('td', null, text(a.agent)), h('td', null, a.adapter),
      h('td', null, a.any_type ? 'any type' : text(a.makes.join(', '))), h('td', null, text(a.model || ''))))),
    plan.stalls.length ? [h('h2', null, 'May stall'), list(['type', 'why'], plan.stalls.map((s, i) => h('tr', { key: 's' + i }, h('td', null, text(s.type)), h('td', null, text(s.why)))))] : null,
    h('h2', null, 'Ends'), list(['agent', 'result', ''], plan.ends.map((e, i) => h('tr', { key: 'e' + i }, h('td', null, text(e.agent)), h('td', null, text(e.type || 'any type')), h('td', null, e.certain ? 'always' : 'where its program says so'))), 'no goal ends with a result'),
  ],
};

export const ledger = {
  title: 'Ledger',
  own: true, // it follows the ledger itself
  query: (page) => ({ since: page.params.get('since') || '1h', type: page.params.get('type'), agent: page.params.get('agent'), workflow: page.params.get('workflow') }),
  load: async () => ({}),
  draw: (page) => {
    const kind = page.params.get('kind') || '';
    const shown = page.rows.filter((e) => !kind || e.kind === kind);
    return [
      h('h1', null, 'Ledger'),
      h('div', { class: 'row' }, page.filter('since', 'Since', ['1h', '10m', '24h', '30d', 'all']), page.filter('kind', 'Kind'), page.filter('type', 'Type'), page.filter('agent', 'Agent'), page.filter('workflow', 'Goal')),
      h('p', { class: 'quiet' }, shown.length, page.dropped ? ' of more' : '', ' entries', shown.length > mostRows ? ', the newest ' + mostRows + ' are shown' : '', page.rows.length ? [', at ', h('span', { class: 'mono' }, page.rows[page.rows.length - 1].id)] : ''),
      list(['time', 'kind', 'goal', 'who', 'what'], shown.slice(-mostRows).reverse().map((e) => h('tr', { key: e.id, 'data-row': '', tabindex: '0' },
        h('td', null, at(e.time)), h('td', null, e.kind), h('td', null, of(e.workflow_id)), h('td', null, text(e.agent || (e.attributes || {}).by || '')),
        h('td', null, e.phase ? e.phase + ' ' : '', e.claim_id ? ['claim ', of(e.claim_id), ' '] : '', e.artefact_id ? ['artefact ', of(e.artefact_id), ' '] : '',
          e.to ? [text((e.from || '') + ' → ' + e.to), ' '] : '', e.reason ? [text(line(e.reason)), ' '] : '',
          h('span', { class: 'quiet' }, Object.entries(e.attributes || {}).filter(([k]) => k !== 'sha256').map(([k, v]) => [k, ' ', text(line(v, 80)), '  ']))))), page.fresh ? 'is read…' : 'no entries yet'),
    ];
  },
  kept: 5000, // entries in the page
};
