// The page: follows one workflow by server-sent events, and sends what the buttons ask for.
//
// The server sends a whole picture first and then the tasks that have changed. Each event has
// an id; a page that was away sends the last one and gets everything after it.

import { Graph } from './graph.js';
import { Timeline, attemptsOf, seconds, stateAt } from './timeline.js';

const $ = id => document.getElementById(id);
const STATES = ['pending', 'ready', 'executing', 'finished', 'failed', 'cancelled', 'skipped'];
const RUN_ACTIONS = ['start', 'pause', 'resume', 'cancel', 'retry', 'reset'];
const TASK_ACTIONS = ['start', 'cancel', 'retry', 'reset'];
const capital = text => text.charAt(0).toUpperCase() + text.slice(1);

/** Makes an element with text; text is never taken for markup. */
const make = (name, text = '', attributes = {}) => {
  const made = document.createElement(name);
  made.textContent = text;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
};

// MARK: What the page knows

const page = {
  /** The workflow of the address, or the first one. */
  id: null,
  token: null,
  tasks: new Map(),
  run: null,
  name: '',
  graph: null,
  selected: null,
  /** The time that is shown; null for now. */
  moment: null,
  folded: new Set(),
  isList: false,
  /** How far the clock of the server is ahead. */
  clock: 0,
  isDirty: false,
};

const now = () => Date.now() / 1000 + page.clock;

/** The server's address of the workflow. */
const address = rest => `/api/workflows/${encodeURIComponent(page.id)}${rest}`;

// The token is in the part of the address that browsers keep to themselves. It stays with the
// tab, and is taken out of the address so that it is not shown around.
const takeToken = () => {
  const given = new URLSearchParams(location.hash.slice(1)).get('token');
  if (given) {
    sessionStorage.setItem('token', given);
    history.replaceState(null, '', location.pathname + location.search);
  }
  page.token = sessionStorage.getItem('token');
};

// MARK: Talking to the server

const say = text => { $('message').textContent = text; };

const send = async (path, body) => {
  say('');
  let response;
  try {
    response = await fetch(path, {
      method: 'POST', body: JSON.stringify(body),
      headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${page.token ?? ''}` },
    });
  } catch {
    say('The server cannot be reached.');
    return null;
  }
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) {
    say(answer.error ?? `The server refuses: ${response.status}.`);
    return null;
  }
  return answer;
};

const get = async path => {
  const response = await fetch(path);
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error);
  return answer;
};

const connection = {
  source: null,
  last: '',

  open() {
    this.close();
    const source = new EventSource(address(`/events?after=${encodeURIComponent(this.last)}`));
    this.source = source;
    source.onopen = () => this.show('Live', false);
    source.onerror = () => {
      this.show('Connection lost; connecting again', true);
      // The browser tries again by itself, unless the server has refused.
      if (source.readyState === EventSource.CLOSED && this.source === source) {
        setTimeout(() => { if (this.source === source) this.open(); }, 1000);
      }
    };
    const take = event => {
      this.last = event.lastEventId;
      receive(JSON.parse(event.data));
    };
    source.addEventListener('picture', take);
    source.addEventListener('change', take);
  },

  close() {
    this.source?.close();
    this.source = null;
  },

  show(text, isLost) {
    $('connection').textContent = page.token ? text : `${text}, without a token: only to look at`;
    $('connection').classList.toggle('lost', isLost);
  },
};

// A browser has few connections to one server, so a hidden page gives its own back. It catches
// up when it is shown again.
let hiding = null;
document.addEventListener('visibilitychange', () => {
  clearTimeout(hiding);
  if (document.hidden) {
    hiding = setTimeout(() => connection.close(), 5000);
  } else if (page.id && !connection.source) {
    connection.open();
  }
});

const receive = picture => {
  page.clock = picture.now - Date.now() / 1000;
  page.run = picture.run;
  page.name = picture.name;
  if (picture.isWhole) page.tasks.clear();
  for (const task of picture.tasks) {
    const before = page.tasks.get(task.id);
    page.tasks.set(task.id, task);
    if (task.id === page.selected && before && before.state !== task.state) {
      $('news').textContent = `${task.name}: ${task.state}`;
    }
  }
  if (picture.graph !== page.graph) {
    page.graph = picture.graph;
    layOut();
  }
  redraw();
};

// MARK: Drawing

/** Draws once for all changes that come before the next frame. */
const redraw = () => {
  if (page.isDirty) return;
  page.isDirty = true;
  requestAnimationFrame(() => {
    page.isDirty = false;
    draw();
  });
};

const look = task => {
  const past = page.moment === null ? null : stateAt(task, page.moment);
  const state = past?.state ?? task.state;
  const attempts = past?.attempts ?? task.attempts;
  const error = past ? past.error : task.error;
  const isOver = ['finished', 'skipped'].includes(state);
  const progress = past ? (isOver ? 1 : 0) : task.progress ?? null;
  const parts = [`${task.name}: ${state}`];
  if (attempts > 1) parts.push(`attempt ${attempts}`);
  if (state === 'executing' && progress !== null) parts.push(`${Math.round(progress * 100)} percent`);
  if (state === 'failed' && error) parts.push(error);
  const isCritical = page.moment === null && page.critical.has(task.id);
  if (isCritical) parts.push('on the critical path');
  return {
    state, attempts, error, progress, isCritical, label: parts.join(', '),
    isSelected: task.id === page.selected,
  };
};

/** The attempts up to the time that is shown; the last one may go on then. */
const attemptsShown = task => {
  if (page.moment === null) return attemptsOf(task, now());
  return attemptsOf({ history: task.history.filter(({ at }) => at <= page.moment) }, page.moment);
};

const draw = () => {
  const { run, tasks } = page;
  if (!run) return;
  page.critical = new Set(run.criticalPath);
  document.title = `${page.name} – ${run.phase}`;
  setText($('title'), page.name);
  setText($('phase'), run.outcome ? capital(run.outcome) : capital(run.phase) + (run.isPaused ? ', paused' : ''));
  showButtons($('run-actions'), RUN_ACTIONS, run.actions);

  const counts = Object.fromEntries(STATES.map(state => [state, 0]));
  for (const task of tasks.values()) {
    const shown = look(task);
    counts[shown.state] += 1;
    if (page.isList) updateRow(task, shown); else graph.update(task, shown);
  }
  graph.mark(page.moment === null ? run.criticalPath : []);
  drawCounts(counts);
  drawCritical(run);
  drawDetails();
  drawTime();
};

const setText = (place, text) => {
  if (place.textContent !== text) place.textContent = text;
};

const drawCounts = counts => {
  for (const state of STATES) {
    let item = $('counts').querySelector(`[data-state="${state}"]`);
    if (!item) {
      item = make('li', '', { 'data-state': state });
      $('counts').append(item);
    }
    item.hidden = counts[state] === 0;
    setText(item, `${counts[state]} ${state}`);
  }
};

const drawCritical = run => {
  const path = run.criticalPath.map(id => ({
    name: page.tasks.get(id)?.name ?? '', depth: id.split('.').length - 1,
  }));
  $('critical').hidden = path.length === 0;
  const left = path.slice(6, -5);
  const shown = path.length <= 12 ? path : [
    ...path.slice(0, 6),
    { name: `… ${left.length} more …`, depth: left.reduce((least, { depth }) => Math.min(least, depth), Infinity) },
    ...path.slice(-5),
  ];
  setText($('critical'), `Critical path: ${inParentheses(shown)}`);
};

/** The path as text; the tasks of a workflow inside a task stand in parentheses behind it. */
const inParentheses = path => {
  let text = '', before = 0;
  path.forEach(({ name, depth }, i) => {
    if (depth > before) text += ` ${'('.repeat(depth - before)}`;
    else text += `${')'.repeat(before - depth)}${i > 0 ? ' → ' : ''}`;
    text += name;
    before = depth;
  });
  return text + ')'.repeat(before);
};

/**
 * Shows a button for each action. One that is not possible stays in its place, so that the
 * focus of a keyboard does not get lost.
 */
const showButtons = (place, all, legal) => {
  for (const action of all) {
    let button = place.querySelector(`[data-action="${action}"]`);
    if (!button) {
      button = make('button', capital(action), { 'data-action': action, type: 'button' });
      place.append(button);
    }
    const isLegal = Boolean(page.token) && legal.includes(action);
    if (button.getAttribute('aria-disabled') !== String(!isLegal)) {
      button.setAttribute('aria-disabled', String(!isLegal));
    }
  }
};

const pressed = event => {
  const button = event.target.closest('button[data-action]');
  if (!button || button.getAttribute('aria-disabled') === 'true') return null;
  return button.dataset.action;
};

const drawDetails = () => {
  const task = page.tasks.get(page.selected);
  $('task-actions').hidden = !task;
  if (!task) {
    setText($('task-name'), 'No task is selected');
    $('facts').replaceChildren();
    $('attempts').replaceChildren();
    $('fulfill').hidden = true;
    return;
  }
  const shown = look(task);
  setText($('task-name'), task.name);
  const name = id => page.tasks.get(id)?.name ?? id;
  const facts = [['State', shown.state]];
  if (task.parent) facts.push(['Inside', name(task.parent)]);
  if (page.moment === null && task.progress != null) facts.push(['Progress', `${Math.round(task.progress * 100)} %`]);
  if (task.prerequisites.length) facts.push(['Waits for', task.prerequisites.map(name).join(', ')]);
  if (task.rule) facts.push(['Runs when', task.rule]);
  if (shown.error) facts.push(['Error', shown.error]);
  if (page.moment === null && task.result) facts.push(['Result', task.result]);
  const key = JSON.stringify(facts);
  if ($('facts').dataset.key !== key) {
    $('facts').dataset.key = key;
    $('facts').replaceChildren(...facts.flatMap(([term, text]) => [make('dt', term), make('dd', text)]));
  }
  showButtons($('task-actions'), TASK_ACTIONS, task.actions);
  drawFold(task);
  $('fulfill').hidden = !(page.token && task.actions.includes('fulfill'));
  drawAttempts(task);
};

const drawFold = task => {
  let button = $('task-actions').querySelector('[data-fold]');
  if (!button) {
    button = make('button', '', { 'data-fold': '', type: 'button' });
    button.addEventListener('click', () => fold(page.selected));
    $('task-actions').append(button);
  }
  button.hidden = task.kind !== 'subworkflow';
  button.setAttribute('aria-expanded', String(!page.folded.has(task.id)));
  setText(button, page.folded.has(task.id) ? 'Unfold' : 'Fold');
};

const drawAttempts = task => {
  const attempts = attemptsShown(task);
  const text = attempt => {
    const span = attempt.isOver ? ` after ${seconds(attempt.ended - attempt.began)}` : '';
    return `${attempt.state}${span}${attempt.error ? `: ${attempt.error}` : ''}`;
  };
  const lines = attempts.slice(-20).map(text);
  const key = lines.join('\n');
  if ($('attempts').dataset.key === key) return;
  $('attempts').dataset.key = key;
  if (!lines.length) return $('attempts').replaceChildren();
  const list = make('ol', '', { start: String(attempts.length - lines.length + 1), 'aria-label': 'Attempts' });
  list.append(...lines.map(line => make('li', line)));
  $('attempts').replaceChildren(make('strong', 'Attempts'), list);
};

const drawTime = () => {
  timeline.update(page.tasks, {
    moment: page.moment, selected: page.selected, critical: page.critical, now: now(),
  });
  const { span } = timeline;
  const slider = $('moment');
  slider.disabled = !span;
  if (!span) return;
  const text = page.moment === null
    ? 'now' : `${seconds(page.moment - span.begin)} of ${seconds(span.end - span.begin)}`;
  setText($('moment-text'), text);
  slider.setAttribute('aria-valuetext', text);
  $('live').setAttribute('aria-pressed', String(page.moment === null));
};

// Bars of executing attempts grow although nothing is news.
setInterval(() => {
  if (page.run && !document.hidden && [...page.tasks.values()].some(({ state }) => state === 'executing')) redraw();
}, 250);

// MARK: The graph, and the list instead of it

const tip = {
  show(id, target) {
    const task = page.tasks.get(id);
    if (!task) return;
    const lines = [look(task).label];
    for (const attempt of attemptsShown(task).slice(-5)) {
      if (attempt.error) lines.push(`Attempt failed: ${attempt.error}`);
    }
    if (page.moment === null && task.result) lines.push(`Result: ${task.result}`);
    $('tip').textContent = lines.join('\n');
    $('tip').hidden = false;
    const box = target.getBoundingClientRect(), size = $('tip').getBoundingClientRect();
    $('tip').style.left = `${Math.max(4, Math.min(box.left, innerWidth - size.width - 4))}px`;
    const below = box.bottom + 6;
    $('tip').style.top = `${below + size.height > innerHeight ? Math.max(4, box.top - size.height - 6) : below}px`;
  },
  hide() { $('tip').hidden = true; },
};

const select = id => {
  page.selected = id;
  redraw();
};

/** Brings the keyboard to the first possible action of the selected task. */
const act = () => {
  draw();
  const isOpen = !$('fulfill').hidden;
  const target = isOpen ? $('value') : $('task-actions').querySelector('[aria-disabled="false"]');
  (target ?? $('task-name')).focus();
};

const fold = id => {
  if (page.folded.has(id)) page.folded.delete(id); else page.folded.add(id);
  layOut();
};

const graph = new Graph($('graph'), $('canvas'), {
  select, act, fold, show: (id, target) => tip.show(id, target), hide: () => tip.hide(),
});

let layouts = 0;
let isFitted = false;
const layOut = async () => {
  const number = ++layouts;
  const groups = [...page.tasks.values()].filter(({ kind }) => kind === 'subworkflow');
  $('fold-all').hidden = groups.length === 0;
  setText($('fold-all'), groups.some(({ id }) => !page.folded.has(id)) ? 'Fold all' : 'Unfold all');
  let layout;
  try {
    layout = await get(address(`/layout?folded=${[...page.folded].join(',')}`));
  } catch (error) {
    layout = { problem: error.message, nodes: [], clusters: [], lines: [] };
  }
  // Another layout has been asked for meanwhile.
  if (number !== layouts) return;
  $('problem').hidden = !layout.problem;
  setText($('problem'), layout.problem ?? '');
  if (layout.problem) return showList(true);
  graph.draw(layout, page.tasks);
  if (isFitted) graph.setZoom(graph.zoom); else graph.fit();
  isFitted = true;
  redraw();
};

/** The number of tasks in the longest chain before each task. */
const levels = () => {
  const level = new Map();
  // Prerequisites come before their dependents.
  for (const task of page.tasks.values()) {
    level.set(task.id, Math.max(-1, ...task.prerequisites.map(id => level.get(id) ?? 0)) + 1);
  }
  return level;
};

const rows = new Map();
const showList = isList => {
  page.isList = isList;
  $('as-list').setAttribute('aria-pressed', String(isList));
  $('canvas').hidden = isList;
  $('list').hidden = !isList;
  rows.clear();
  $('list').replaceChildren();
  if (isList) {
    const table = make('table'), head = make('tr'), body = make('tbody');
    head.append(...['Layer', 'Task', 'State', 'Progress', 'Attempts'].map(text => make('th', text, { scope: 'col' })));
    const level = levels();
    for (const task of [...page.tasks.values()].sort((a, b) => level.get(a.id) - level.get(b.id))) {
      const row = make('tr'), name = make('td'), button = make('button', task.name, { type: 'button' });
      button.addEventListener('click', () => { select(task.id); act(); });
      name.append(button);
      const cells = [make('td'), make('td'), make('td')];
      row.append(make('td', String(level.get(task.id) + 1)), name, ...cells);
      body.append(row);
      rows.set(task.id, cells);
    }
    const top = make('thead');
    top.append(head);
    table.append(top, body);
    $('list').append(table);
  }
  redraw();
};

const updateRow = (task, shown) => {
  const cells = rows.get(task.id);
  if (!cells) return;
  setText(cells[0], shown.state);
  setText(cells[1], shown.progress === null ? '' : `${Math.round(shown.progress * 100)} %`);
  setText(cells[2], String(shown.attempts));
};

const timeline = new Timeline($('bars'), $('bars-size'), $('bars-canvas'), { select });

// MARK: Controls

$('run-actions').addEventListener('click', event => {
  const action = pressed(event);
  if (action) send(address(''), { action });
});
$('task-actions').addEventListener('click', event => {
  const action = pressed(event);
  if (action) send(address(`/tasks/${page.selected}`), { action });
});
$('fulfill').addEventListener('submit', async event => {
  event.preventDefault();
  const done = await send(address(`/tasks/${page.selected}`), { action: 'fulfill', value: $('value').value });
  if (!done) return;
  $('value').value = '';
  // The field goes away, so the keyboard continues at the task.
  $('task-name').focus();
});
$('zoom-in').addEventListener('click', () => graph.setZoom(graph.zoom * 1.25));
$('zoom-out').addEventListener('click', () => graph.setZoom(graph.zoom / 1.25));
$('zoom-fit').addEventListener('click', () => graph.fit());
$('as-list').addEventListener('click', () => showList(!page.isList));
$('fold-all').addEventListener('click', () => {
  const groups = [...page.tasks.values()].filter(({ kind }) => kind === 'subworkflow').map(({ id }) => id);
  const isOpen = groups.some(id => !page.folded.has(id));
  page.folded = new Set(isOpen ? groups : []);
  layOut();
});
$('moment').addEventListener('input', () => {
  const { span } = timeline;
  if (!span) return;
  const part = $('moment').value / $('moment').max;
  page.moment = part === 1 ? null : span.begin + part * (span.end - span.begin);
  redraw();
});
$('live').addEventListener('click', () => {
  page.moment = null;
  $('moment').value = $('moment').max;
  redraw();
});
document.addEventListener('keydown', event => { if (event.key === 'Escape') tip.hide(); });

// MARK: Choosing a workflow

const go = id => {
  const url = new URL(location.href);
  url.searchParams.set('workflow', id);
  location.assign(url);
};

const showChoices = ({ workflows, offers }) => {
  $('chooser').replaceChildren(...workflows.map(({ id, name, taskCount }) => {
    const option = make('option', `${name} (${taskCount})`, { value: id });
    option.selected = id === page.id;
    return option;
  }));
  $('offer-kind').replaceChildren(...offers.map(({ id, title }) => make('option', title, { value: id })));
  $('offer').hidden = offers.length === 0 || !page.token;
  const suggest = () => {
    $('offer-argument').value = offers.find(({ id }) => id === $('offer-kind').value)?.example ?? '';
  };
  $('offer-kind').addEventListener('change', suggest);
  suggest();
};
$('chooser').addEventListener('change', () => go($('chooser').value));
$('offer').addEventListener('submit', async event => {
  event.preventDefault();
  const made = await send('/api/workflows', { offer: $('offer-kind').value, argument: $('offer-argument').value });
  if (made) go(made.id);
});

/** Makes the workflow of an address such as `?workflow=random-200.7`, if there is none yet. */
const makeWanted = async (wanted, choices) => {
  if (choices.workflows.some(({ id }) => id === wanted)) return true;
  const offer = choices.offers.find(({ id }) => wanted.startsWith(`${id}-`));
  if (!offer || !page.token) return false;
  return Boolean(await send('/api/workflows', { offer: offer.id, argument: wanted.slice(offer.id.length + 1) }));
};

const start = async () => {
  takeToken();
  let choices;
  try {
    choices = await get('/api/workflows');
  } catch {
    connection.show('The server cannot be reached', true);
    setTimeout(start, 1000);
    return;
  }
  const wanted = new URLSearchParams(location.search).get('workflow');
  if (wanted && !await makeWanted(wanted, choices)) {
    if (!$('message').textContent) say(`There is no workflow '${wanted}'.`);
    showChoices(choices);
    return;
  }
  if (wanted) choices = await get('/api/workflows');
  page.id = wanted ?? choices.workflows[0]?.id ?? null;
  showChoices(choices);
  if (page.id === null) return say('No workflow is shown yet.');
  connection.open();
};

page.critical = new Set();
start();
