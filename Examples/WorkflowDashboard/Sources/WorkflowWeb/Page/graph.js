// The drawing: boxes for tasks, lines for dependencies, areas for workflows inside tasks.
//
// Graphviz, on the server, says where everything is. Names enter the document as text only.

const SVG = 'http://www.w3.org/2000/svg';
const MARGIN = 6;

/** A small shape for each state, so that colour is not needed to tell them apart. */
const SHAPES = {
  pending: 'M-5-5h10v10h-10z',
  ready: 'M-4-6l9 6-9 6z',
  executing: 'M0-6a6 6 0 1 1 -6 6h6z',
  cancelled: 'M-5 0h10',
  finished: 'M-5 0l4 4 7-8',
  failed: 'M-5-5l10 10m0-10l-10 10',
  skipped: 'M-6-5l5 5-5 5m6-10l5 5-5 5',
};

export const element = (name, attributes = {}, ...children) => {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
};

const shorten = (text, limit) => {
  const characters = Array.from(text);
  return characters.length > limit ? characters.slice(0, limit - 1).join('') + '…' : text;
};

export class Graph {
  /**
   * @param {SVGElement} svg the drawing
   * @param {HTMLElement} scroller the element that scrolls the drawing
   * @param {object} events functions: select(id), act(id), show(id, element), hide(), fold(id)
   */
  constructor(svg, scroller, events) {
    this.svg = svg;
    this.scroller = scroller;
    this.events = events;
    this.nodes = new Map();
    this.clusters = new Map();
    this.edges = [];
    this.layout = null;
    this.zoom = 1;
    this.current = null;
    svg.addEventListener('keydown', event => this.#key(event));
    svg.addEventListener('click', event => {
      const id = this.#idAt(event);
      if (id !== null) this.#goTo(id, true);
      const fold = event.target.closest('[data-fold]');
      if (fold) events.fold(fold.dataset.fold);
    });
    const show = event => {
      const id = this.#idAt(event);
      if (id !== null) events.show(id, this.nodes.get(id).group);
    };
    svg.addEventListener('pointerover', show);
    svg.addEventListener('focusin', show);
    svg.addEventListener('pointerout', () => events.hide());
    svg.addEventListener('focusout', () => events.hide());
  }

  #idAt(event) {
    const group = event.target.closest('.node');
    return group ? group.dataset.id : null;
  }

  /** Draws everything anew, because the layout has changed. */
  draw(layout, tasks) {
    const hadFocus = this.svg.contains(document.activeElement);
    this.layout = layout;
    this.nodes.clear();
    this.clusters.clear();
    this.edges = [];
    const clusters = element('g'), lines = element('g'), boxes = element('g');
    for (const cluster of layout.clusters) {
      const group = element('g', { class: 'cluster' }, element('rect', {
        x: cluster.x, y: cluster.y, width: cluster.width, height: cluster.height, rx: 8,
      }));
      clusters.append(group);
      this.clusters.set(cluster.id, group);
    }
    for (const line of layout.lines) {
      const rule = tasks.get(line.to)?.rule;
      const path = element('path', { class: rule ? 'edge ruled' : 'edge', d: this.#path(line) });
      lines.append(path);
      this.edges.push({ ...line, path });
    }
    for (const box of layout.nodes) {
      const task = tasks.get(box.id);
      if (task) boxes.append(this.#box(box, task));
    }
    this.svg.replaceChildren(clusters, lines, boxes);
    // With room for the borders of the outermost boxes.
    this.width = layout.width + 2 * MARGIN;
    this.height = layout.height + 2 * MARGIN;
    this.svg.setAttribute('viewBox', `${-MARGIN} ${-MARGIN} ${this.width} ${this.height}`);
    if (!this.nodes.has(this.current)) this.current = layout.nodes[0]?.id ?? null;
    this.#setTabStop();
    if (hadFocus) this.nodes.get(this.current)?.group.focus();
  }

  #path({ from, to, points }) {
    if (points.length >= 4) {
      const [start, ...rest] = points.map(([x, y]) => `${x} ${y}`);
      return `M${start}C${rest.join(' ')}`;
    }
    const box = id => this.layout.nodes.find(node => node.id === id);
    const a = box(from), b = box(to);
    const y1 = a.y + a.height / 2, y2 = b.y + b.height / 2, x1 = a.x + a.width;
    return `M${x1} ${y1}C${x1 + 30} ${y1} ${b.x - 30} ${y2} ${b.x} ${y2}`;
  }

  #box(box, task) {
    const { width, height } = box;
    const fill = element('rect', { class: 'fill', x: 10, y: height - 13, height: 6, rx: 3 });
    const state = element('text', { class: 'small', x: 28, y: 37 });
    const shape = element('path', { class: 'shape', transform: 'translate(17 33)' });
    const name = element('text', { x: 10, y: 19 });
    name.textContent = shorten(task.name, 24);
    const group = element('g', {
      role: 'button', tabindex: '-1', transform: `translate(${box.x} ${box.y})`,
    },
    element('rect', { class: 'box', width, height, rx: 8 }), name, shape, state,
    element('rect', { class: 'track', x: 10, y: height - 13, width: width - 20, height: 6, rx: 3 }),
    fill);
    group.dataset.id = box.id;
    this.nodes.set(box.id, { group, fill, state, shape, box, drawn: '' });
    return group;
  }

  /** Shows the state of a task, if it is drawn. */
  update(task, look) {
    const node = this.nodes.get(task.id);
    if (!node) return;
    const isUnknown = look.progress === null && look.state === 'executing';
    const part = isUnknown ? 1 : look.progress ?? 0;
    const text = look.state + (look.attempts > 1 ? `, attempt ${look.attempts}` : '')
      + (look.state === 'executing' && !isUnknown ? ` ${Math.round(part * 100)} %` : '');
    const classes = `node ${look.state}${look.isSelected ? ' selected' : ''}${look.isCritical ? ' critical' : ''}`;
    // Most updates change little: the document is only touched where it differs.
    const drawn = `${classes}|${text}|${part}|${look.label}`;
    if (drawn === node.drawn) return;
    node.drawn = drawn;
    node.group.setAttribute('class', classes);
    node.group.setAttribute('aria-label', look.label);
    node.group.setAttribute('aria-pressed', String(look.isSelected));
    node.state.textContent = text;
    node.shape.setAttribute('d', SHAPES[look.state] ?? '');
    node.fill.setAttribute('class', isUnknown ? 'fill unknown' : 'fill');
    node.fill.setAttribute('width', Math.max(0, part * (node.box.width - 20)));
  }

  /**
   * Marks the lines between tasks of the critical path, and the areas that it goes through.
   *
   * The path inside a task stands between this task and the next one of the same workflow, so
   * the task before is looked for in the same workflow.
   */
  mark(criticalPath) {
    const pairs = new Set(), last = new Map();
    for (const id of criticalPath) {
      const around = id.slice(0, Math.max(0, id.lastIndexOf('.')));
      if (last.has(around)) pairs.add(`${last.get(around)}>${id}`);
      last.set(around, id);
    }
    for (const edge of this.edges) {
      edge.path.classList.toggle('critical', pairs.has(`${edge.from}>${edge.to}`));
    }
    for (const [id, group] of this.clusters) group.classList.toggle('critical', last.has(id));
  }

  // Zoom.

  setZoom(zoom) {
    if (!this.layout) return;
    const { scroller } = this;
    const x = (scroller.scrollLeft + scroller.clientWidth / 2) / this.zoom;
    const y = (scroller.scrollTop + scroller.clientHeight / 2) / this.zoom;
    this.zoom = Math.min(Math.max(zoom, 0.05), 3);
    this.svg.setAttribute('width', this.width * this.zoom);
    this.svg.setAttribute('height', this.height * this.zoom);
    this.svg.classList.toggle('far', this.zoom < 0.5);
    scroller.scrollLeft = x * this.zoom - scroller.clientWidth / 2;
    scroller.scrollTop = y * this.zoom - scroller.clientHeight / 2;
  }

  fit() {
    if (!this.layout?.width) return;
    const { scroller } = this;
    this.setZoom(Math.min(
      (scroller.clientWidth - 4) / this.width, (scroller.clientHeight - 4) / this.height, 1.25));
  }

  // Keys: one stop for Tab, and arrows inside.

  #setTabStop() {
    this.stop?.setAttribute('tabindex', '-1');
    this.stop = this.nodes.get(this.current)?.group;
    this.stop?.setAttribute('tabindex', '0');
  }

  #goTo(id, selects) {
    this.current = id;
    this.#setTabStop();
    const { group } = this.nodes.get(id);
    group.focus({ preventScroll: true });
    group.scrollIntoView({ block: 'nearest', inline: 'nearest' });
    if (selects) this.events.select(id);
  }

  #key(event) {
    const here = this.nodes.get(this.current)?.box;
    if (!here || event.ctrlKey || event.metaKey || event.altKey) return;
    const direction = {
      ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1],
    }[event.key];
    if (direction) {
      event.preventDefault();
      const next = this.#neighbour(here, direction);
      if (next) this.#goTo(next, false);
    } else if (event.key === 'Home' || event.key === 'End') {
      event.preventDefault();
      const { nodes } = this.layout;
      this.#goTo(nodes[event.key === 'Home' ? 0 : nodes.length - 1].id, false);
    } else if (event.key === 'Enter' || event.key === ' ') {
      event.preventDefault();
      this.events.select(this.current);
      this.events.act(this.current);
    }
  }

  /** The nearest task in a direction: distance counts, and distance from the axis twice. */
  #neighbour(here, [dx, dy]) {
    let best = null, least = Infinity;
    for (const box of this.layout.nodes) {
      const x = box.x - here.x, y = box.y - here.y;
      const along = x * dx + y * dy, across = Math.abs(x * dy) + Math.abs(y * dx);
      if (along < 1) continue;
      const cost = along + 2 * across;
      if (cost < least) [best, least] = [box.id, cost];
    }
    return best;
  }
}
