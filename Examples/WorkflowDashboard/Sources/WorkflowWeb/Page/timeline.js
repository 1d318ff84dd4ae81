// What ran when: a row for each task, a bar for each attempt.

const ROW = 18, AXIS = 18, LABEL = 190;

/** The attempts of a task: when each began and ended, and how. */
export const attemptsOf = (task, now) => {
  const attempts = [];
  task.history.forEach((moment, i) => {
    if (moment.state !== 'executing') return;
    const next = task.history[i + 1];
    const end = next ? (next.error ? 'failed' : next.state) : 'executing';
    attempts.push({
      began: moment.at, ended: next?.at ?? now, isOver: Boolean(next),
      // A reset in the middle leaves no result.
      state: ['ready', 'pending'].includes(end) ? 'cancelled' : end, error: next?.error ?? null,
    });
  });
  return attempts;
};

/** The state of a task at a time, from its history. */
export const stateAt = (task, time) => {
  let last = null, attempts = 0;
  for (const moment of task.history) {
    if (moment.at > time) break;
    last = moment;
    if (moment.state === 'executing') attempts += 1;
  }
  // Before the first known moment the task had not begun.
  const state = last?.state ?? (task.prerequisites.length ? 'pending' : 'ready');
  return { state, attempts, error: state === 'failed' ? last.error ?? null : null };
};

export const seconds = span => `${span.toFixed(span < 10 ? 2 : 1)} s`;

export class Timeline {
  constructor(scroller, size, canvas, events) {
    [this.scroller, this.size, this.canvas] = [scroller, size, canvas];
    this.context = canvas.getContext('2d');
    this.rows = [];
    this.span = null;
    this.view = { moment: null, selected: null, critical: new Set(), now: 0 };
    scroller.addEventListener('scroll', () => this.draw());
    new ResizeObserver(() => this.draw()).observe(scroller);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.draw());
    canvas.addEventListener('click', event => {
      const y = event.clientY - canvas.getBoundingClientRect().top;
      const row = this.rows[Math.floor((y - AXIS + scroller.scrollTop) / ROW)];
      if (row && y > AXIS) events.select(row.task.id);
    });
  }

  /** Takes the tasks in the order in which they began; remembers the whole span. */
  update(tasks, view) {
    this.view = view;
    this.rows = [];
    let begin = Infinity, end = -Infinity;
    for (const task of tasks.values()) {
      const attempts = attemptsOf(task, view.now);
      const ends = task.history.filter(moment => ['finished', 'failed'].includes(moment.state));
      if (!attempts.length && !ends.length) continue;
      const first = attempts[0]?.began ?? ends[0].at;
      this.rows.push({ task, attempts, ends, first });
      begin = Math.min(begin, first);
      for (const attempt of attempts) end = Math.max(end, attempt.ended);
      for (const moment of ends) end = Math.max(end, moment.at);
    }
    this.rows.sort((a, b) => a.first - b.first);
    this.span = this.rows.length ? { begin, end: Math.max(end, begin + 0.001) } : null;
    this.size.style.height = `${AXIS + this.rows.length * ROW}px`;
    const bars = this.rows.reduce((sum, row) => sum + row.attempts.length, 0);
    const critical = this.rows.filter(({ task }) => view.critical.has(task.id)).length;
    this.canvas.setAttribute('aria-label', this.span
      ? `${bars} attempts of ${this.rows.length} tasks in ${seconds(this.span.end - begin)}`
        + (critical ? `, ${critical} tasks on the critical path` : '')
      : 'Nothing has run yet');
    this.draw();
  }

  draw() {
    const { context: c, scroller, canvas, span, view } = this;
    const width = scroller.clientWidth, height = scroller.clientHeight;
    const scale = devicePixelRatio || 1;
    if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
      [canvas.width, canvas.height] = [Math.round(width * scale), Math.round(height * scale)];
      [canvas.style.width, canvas.style.height] = [`${width}px`, `${height}px`];
    }
    const style = getComputedStyle(document.documentElement);
    const colour = name => style.getPropertyValue(`--${name}`);
    c.setTransform(scale, 0, 0, scale, 0, 0);
    c.clearRect(0, 0, width, height);
    c.font = '12px system-ui, "DejaVu Sans", sans-serif';
    c.textBaseline = 'middle';
    if (!span) {
      c.fillStyle = colour('faint');
      c.fillText('Nothing has run yet.', 8, AXIS + ROW / 2);
      return;
    }
    const label = Math.min(LABEL, width * 0.35);
    const place = time => label + (time - span.begin) / (span.end - span.begin) * (width - label - 12);
    const firstRow = Math.max(0, Math.floor(scroller.scrollTop / ROW) - 1);
    const lastRow = Math.min(this.rows.length, firstRow + Math.ceil(height / ROW) + 2);
    const colours = Object.fromEntries(
      ['finished', 'failed', 'cancelled', 'executing', 'skipped'].map(state => [state, colour(`${state}-bar`)]));
    for (let i = firstRow; i < lastRow; i++) {
      const { task, attempts, ends } = this.rows[i];
      const y = AXIS + i * ROW - scroller.scrollTop;
      if (task.id === view.selected) {
        c.fillStyle = colour('ready');
        c.fillRect(0, y, width, ROW);
      }
      const isCritical = view.critical.has(task.id);
      c.fillStyle = colour(isCritical ? 'critical' : 'text');
      // A mark at the edge, because a colour of text alone is easily missed.
      if (isCritical) c.fillRect(0, y, 3, ROW);
      c.save();
      c.beginPath();
      c.rect(0, y, label - 8, ROW);
      c.clip();
      c.fillText(task.name, 6, y + ROW / 2);
      c.restore();
      for (const attempt of attempts) {
        const x = place(attempt.began);
        c.fillStyle = colours[attempt.state] ?? colours.executing;
        c.fillRect(x, y + 3, Math.max(2, place(attempt.ended) - x), ROW - 6);
      }
      // Of a recorded task only the end is known.
      if (!attempts.length) {
        for (const moment of ends) {
          c.fillStyle = colours[moment.state];
          c.fillRect(place(moment.at) - 2, y + 3, 4, ROW - 6);
        }
      }
    }
    // The axis, over the rows that are scrolled under it.
    c.fillStyle = colour('panel');
    c.fillRect(0, 0, width, AXIS);
    c.fillStyle = colour('faint');
    const steps = Math.max(2, Math.floor((width - label) / 120));
    for (let i = 0; i <= steps; i++) {
      const time = span.begin + (span.end - span.begin) * i / steps;
      c.textAlign = i === steps ? 'right' : 'left';
      c.fillText(seconds(time - span.begin), place(time), AXIS / 2);
    }
    c.textAlign = 'left';
    if (view.moment !== null) {
      c.fillStyle = colour('accent');
      c.fillRect(place(Math.min(Math.max(view.moment, span.begin), span.end)) - 1, 0, 2, height);
    }
  }
}
