#!/usr/bin/env python3
"""Tests the page of WorkflowDashboard in a real browser, and makes its pictures.

Run it with `.ci/dashboard`, which installs what it needs.
"""

import argparse
import json
import os
import re
import socket
import tempfile
import time
import traceback

from playwright.sync_api import sync_playwright

from support import Program, Proxy, journal

TESTS = []


def test(function=None, *, sample=False):
    """Registers a test. Those of the sample also run with every change."""
    def register(function):
        TESTS.append((function, sample))
        return function
    return register(function) if function else register


class Browser:
    """The browser with the program under test; a new page has no state of earlier ones."""

    def __init__(self, chromium, program, pictures):
        self.chromium, self.program, self.pictures = chromium, program, pictures
        self.figures = {}

    def start(self, *arguments, **options):
        return Program(self.program, *arguments, **options)

    def open(self, url, nodes=True, **options):
        context = self.chromium.new_context(
            **{"viewport": {"width": 1280, "height": 860}, **options})
        page = context.new_page()
        page.problems = []
        page.on("pageerror", lambda error: page.problems.append(str(error)))
        page.on("dialog", lambda dialog: page.problems.append("a dialog"))
        page.goto(url)
        if nodes:
            page.wait_for_selector(".node", timeout=60_000)
        return page

    def picture(self, page, name):
        if self.pictures:
            page.screenshot(path=os.path.join(self.pictures, name))


def state(page, task):
    """The state that the drawing of a task shows, by the name of the task."""
    label = page.locator(f'.node[aria-label^="{task}: "]').get_attribute("aria-label")
    return re.match(re.escape(task) + r": (\w+)", label).group(1)


def wait_for(page, task, wanted):
    page.wait_for_selector(f'.node.{wanted}[aria-label^="{task}: {wanted}"]', timeout=30_000)


def press(page, action):
    page.click(f'#run-actions [data-action={action}][aria-disabled=false]')


def fulfill(page, task, value):
    page.click(f'.node[aria-label^="{task}: "]')
    page.fill("#value", value)
    page.press("#value", "Enter")
    wait_for(page, task, "finished")


def contains(page, place, text):
    """Waits until an element contains a text."""
    page.wait_for_function(
        "([place, text]) => document.getElementById(place).textContent.includes(text)",
        arg=[place, text], timeout=60_000)


def phase(page, wanted):
    contains(page, "phase", wanted)


# A random graph whose critical path goes through two groups, and in which no task fails.
GROUPED = "random-20.8"

ORDER = (("Photo 1", "lighthouse.jpg"), ("Photo 2", "harbour.jpg"), ("Metadata", "The Coast"))


@test(sample=True)
def states_change_on_all_pages(browser):
    # Slowly: each of three pages is asked in turn for a state that has to last so long.
    with browser.start("--speed", "1", "--failures", "0") as program:
        pages = [browser.open(program.page("order")) for _ in range(3)]
        assert state(pages[0], "Create Project") == "ready"
        assert state(pages[0], "Submit Order") == "pending"
        press(pages[0], "start")
        for page in pages:
            wait_for(page, "Create Project", "executing")
        for (task, value), page in zip(ORDER, pages):
            fulfill(page, task, value)
        for page in pages:
            phase(page, "Finished")
            wait_for(page, "Submit Order", "finished")
            assert "Critical path: " in page.text_content("#critical")
            assert page.text_content("#counts [data-state=finished]") == "7 finished"
            assert page.problems == []


@test(sample=True)
def buttons_work(browser):
    with browser.start("--speed", "2", "--failures", "0") as program:
        page = browser.open(program.page("order"))
        legal = lambda: page.eval_on_selector_all(
            "#run-actions [aria-disabled=false]", "all => all.map(one => one.dataset.action)")
        assert legal() == ["start", "pause", "cancel"], legal()
        press(page, "pause")
        page.wait_for_selector("[data-action=resume][aria-disabled=false]")
        press(page, "resume")
        press(page, "start")
        wait_for(page, "Create Project", "executing")
        press(page, "cancel")
        phase(page, "Cancelled")
        wait_for(page, "Create Project", "cancelled")
        press(page, "retry")
        wait_for(page, "Create Project", "executing")
        wait_for(page, "Create Project", "finished")
        page.click('.node[aria-label^="Create Project: "]')
        page.click("#task-actions [data-action=reset][aria-disabled=false]")
        wait_for(page, "Create Project", "ready")
        page.click("#task-actions [data-action=start][aria-disabled=false]")
        wait_for(page, "Create Project", "executing")
        page.click("#task-actions [data-action=cancel][aria-disabled=false]")
        wait_for(page, "Create Project", "cancelled")
        # A button that has no meaning does nothing when it is pressed all the same.
        page.click("#task-actions [data-action=start][aria-disabled=true]", force=True)
        assert state(page, "Create Project") == "cancelled"
        press(page, "reset")
        wait_for(page, "Create Project", "ready")
        # A value that the application refuses is told, and changes nothing.
        page.click('.node[aria-label^="Photo 1: "]')
        page.fill("#value", "")
        page.press("#value", "Enter")
        contains(page, "message", "empty")
        assert state(page, "Photo 1") == "ready"
        assert page.problems == []


@test
def failures_are_told(browser):
    with browser.start("--speed", "5", "--failures", "1") as program:
        page = browser.open(program.page("order"))
        press(page, "start")
        wait_for(page, "Create Project", "failed")
        for task, value in ORDER:
            fulfill(page, task, value)
        phase(page, "Failed")
        page.click('.node[aria-label^="Create Project: "]')
        page.click("#task-actions [data-action=retry][aria-disabled=false]")
        page.wait_for_function("() => document.querySelectorAll('#attempts li').length === 2")
        phase(page, "Failed")
        wait_for(page, "Create Project", "failed")
        attempts = page.text_content("#attempts")
        assert attempts.count("the connection was lost") == 2, attempts
        page.hover('.node[aria-label^="Create Project: "]')
        page.wait_for_selector("#tip:not([hidden])")
        assert "the connection was lost" in page.text_content("#tip")
        browser.picture(page, "failure.png")
        page.mouse.move(0, 0)
        page.wait_for_selector("#tip", state="hidden")
        page.focus('.node[tabindex="0"]')
        page.wait_for_selector("#tip:not([hidden])")
        label = page.get_attribute('.node[tabindex="0"]', "aria-label")
        assert page.text_content("#tip").startswith(label), (label, page.text_content("#tip"))
        # The second attempt of a task has a bar of its own.
        bars = page.get_attribute("#bars-canvas", "aria-label")
        attempts, tasks = map(int, re.match(r"(\d+) attempts? of (\d+) tasks?", bars).groups())
        assert attempts > tasks, bars
        assert page.problems == []


@test
def the_past_knows_nothing_of_later_failures(browser):
    with browser.start("--speed", "5", "--failures", "1") as program:
        page = browser.open(program.page("order"))
        node = '.node[aria-label^="Create Project: "]'
        page.click(node)
        press(page, "start")
        wait_for(page, "Create Project", "failed")
        page.click("#task-actions [data-action=retry][aria-disabled=false]")
        page.wait_for_function("() => document.querySelectorAll('#attempts li').length === 2")
        wait_for(page, "Create Project", "failed")
        contains(page, "facts", "the connection was lost")
        page.focus("#moment")
        page.keyboard.press("Home")
        wait_for(page, "Create Project", "executing")
        page.wait_for_function("() => document.querySelectorAll('#attempts li').length === 1")
        page.hover(node)
        page.wait_for_selector("#tip:not([hidden])")
        for place in ("#tip", "#facts", "#attempts"):
            assert "the connection was lost" not in page.text_content(place), place
        page.mouse.move(0, 0)
        page.click("#live")
        page.hover(node)
        page.wait_for_selector("#tip:not([hidden])")
        assert page.text_content("#tip").count("Attempt failed: the connection was lost") == 2
        assert page.problems == []


@test(sample=True)
def a_page_that_was_away_catches_up(browser):
    with browser.start("--speed", "4", "--failures", "0") as program:
        with Proxy(program.port) as proxy:
            near = browser.open(program.page("order"))
            far = browser.open(program.page("order", port=proxy.port))
            press(near, "start")
            wait_for(far, "Create Project", "executing")
            proxy.cut()
            contains(far, "connection", "lost")
            for task, value in ORDER:
                fulfill(near, task, value)
            phase(near, "Finished")
            assert state(far, "Submit Order") == "pending"
            count = len(proxy.requests)
            proxy.mend()
            phase(far, "Finished")
            wait_for(far, "Submit Order", "finished")
            again = [text for text in proxy.requests[count:] if "/events" in text]
            # Only what was missed is asked for.
            assert any("after=" in text or "Last-Event-ID:" in text for text in again), again
            ids = re.findall(r"Last-Event-ID: (\S+)", "".join(again), re.IGNORECASE)
            assert ids and all(re.fullmatch(r"\w+-\d+-\d+", one) for one in ids), again
            assert far.problems == []


@test(sample=True)
def more_connections_than_files_end_nothing(browser):
    with browser.start("--failures", "0", open_files=128) as program:
        page = browser.open(program.page("order"))
        # The server cannot accept the last ones. It ends all connections and begins anew.
        crowd = []
        for _ in range(200):
            try:
                crowd.append(socket.create_connection(("127.0.0.1", program.port), 5))
            except OSError:
                break
        assert len(crowd) > 64, len(crowd)
        crowd[0].settimeout(30)
        try:
            assert crowd[0].recv(1) == b""
        except ConnectionResetError:
            pass
        contains(page, "connection", "Live")
        press(page, "start")
        wait_for(page, "Create Project", "executing")
        for one in crowd:
            one.close()
        assert page.problems == []


@test
def a_restarted_program_is_followed(browser):
    first = browser.start("--speed", "4", "--failures", "0")
    with first:
        page = browser.open(first.page("order"))
        press(page, "start")
        wait_for(page, "Create Project", "executing")
    contains(page, "connection", "lost")
    with browser.start("--port", str(first.port)):
        wait_for(page, "Create Project", "ready")
        # The token of the old program is worth nothing.
        press(page, "start")
        contains(page, "message", "token")
        assert state(page, "Create Project") == "ready"


@test
def a_thousand_tasks_stay_fluid(browser):
    measure = """async seconds => {
        const intervals = [];
        let last = performance.now();
        const end = last + seconds * 1000;
        const canvas = document.getElementById('canvas');
        await new Promise(done => {
            const frame = time => {
                intervals.push(time - last);
                last = time;
                // A person scrolls meanwhile.
                canvas.scrollLeft += 3;
                if (time < end) requestAnimationFrame(frame); else done();
            };
            requestAnimationFrame(frame);
        });
        intervals.sort((a, b) => a - b);
        const at = part => Math.round(intervals[Math.floor(part * (intervals.length - 1))]);
        return { frames: intervals.length, median: at(0.5), p95: at(0.95), longest: at(1) };
    }"""
    with browser.start("--speed", "4") as program:
        began = time.monotonic()
        page = browser.open(program.page("random-1000.1"))
        drawn = time.monotonic() - began
        count = page.locator(".node").count()
        assert count == 1000, count
        page.click("#zoom-in")
        press(page, "start")
        page.wait_for_selector(".node.executing")
        figures = page.evaluate(measure, 5)
        finished = page.locator(".node.finished").count()
        browser.figures["1,000 tasks"] = {"drawn after (s)": round(drawn, 1), **figures,
                                          "finished meanwhile": finished}
        assert finished > 50, finished
        assert figures["p95"] < 150, figures
        press(page, "cancel")
        assert page.problems == []


@test
def two_hundred_tasks_and_groups_that_fold(browser):
    with browser.start("--speed", "2") as program:
        page = browser.open(program.page("random-200.7"))
        assert page.locator(".node").count() == 200
        groups = page.locator(".cluster").count()
        assert groups > 3, groups
        press(page, "start")
        page.wait_for_function("() => document.querySelectorAll('.node.finished').length > 90")
        browser.picture(page, "200-tasks.png")
        page.click("#fold-all")
        page.wait_for_function("() => document.querySelectorAll('.node').length < 200")
        assert page.locator(".cluster").count() == 0
        page.click('.node[aria-label^="Group"]')
        page.click("#task-actions [data-fold]")
        page.wait_for_selector(".cluster")
        assert page.locator(".cluster").count() == 1
        page.click("#as-list")
        assert page.locator("#list tbody tr").count() == 200
        assert page.problems == []


COUNT_OF_MARKED_ROWS = """wanted => {
    const canvas = document.getElementById('bars-canvas'), row = 18, axis = 18;
    const { data } = canvas.getContext('2d').getImageData(1, 0, 1, canvas.height);
    const probe = document.createElement('span');
    probe.style.color = 'var(--critical)';
    document.body.append(probe);
    const colour = getComputedStyle(probe).color.match(/\\d+/g).map(Number);
    probe.remove();
    let count = 0;
    for (let y = axis + row / 2; y < canvas.height; y += row) {
        if (colour.every((part, i) => data[4 * y + i] === part)) count += 1;
    }
    return count === wanted;
}"""


@test(sample=True)
def the_critical_path_goes_on_inside_groups(browser):
    with browser.start("--speed", "8") as program:
        page = browser.open(program.page(GROUPED))
        assert page.locator(".critical").count() == 0
        press(page, "start")
        phase(page, "Finished")
        path = page.evaluate(
            "id => fetch(`/api/workflows/${id}`).then(answer => answer.json())"
            ".then(picture => picture.run.criticalPath)", GROUPED)
        inner = [one for one in path if "." in one]
        group = inner[0].split(".")[0]
        assert len(inner) >= 2 and group in path, path

        def marked(place):
            return page.locator(f"{place}.critical").count()

        page.wait_for_function(
            "count => document.querySelectorAll('.node.critical').length === count",
            arg=len(path))
        for one in path:
            label = page.get_attribute(f'.node.critical[data-id="{one}"]', "aria-label")
            assert "on the critical path" in label, label
        # A line for each step, in the outer workflow and in each group.
        levels = [one.rpartition(".")[0] for one in path]
        assert marked(".edge") == len(path) - len(set(levels)), path
        assert marked(".cluster") == len(set(levels)) - 1, path
        text = page.text_content("#critical")
        name = page.text_content(f'.node[data-id="{group}"] text')
        assert f"{name} ({name}, step " in text and text.count("(") == text.count(")"), text
        # The timeline has a mark at the edge of each row that belongs to the path.
        page.wait_for_function(
            "count => document.getElementById('bars-canvas').getAttribute('aria-label')"
            ".endsWith(`, ${count} tasks on the critical path`)", arg=len(path))
        page.evaluate("document.getElementById('bars').style.height = '40rem'")
        page.wait_for_function(COUNT_OF_MARKED_ROWS, arg=len(path))
        # A folded group is on the path as a whole.
        page.click("#fold-all")
        page.wait_for_function("() => document.querySelectorAll('.cluster').length === 0")
        page.wait_for_function(
            "count => document.querySelectorAll('.node.critical').length === count",
            arg=len(path) - len(inner))
        # In the past there is no critical path.
        page.focus("#moment")
        page.keyboard.press("Home")
        page.wait_for_function("() => document.querySelectorAll('svg .critical').length === 0")
        assert page.problems == []


@test(sample=True)
def a_finished_run_is_scrolled_through(browser):
    with browser.start("--speed", "8", "--failures", "0") as program:
        page = browser.open(program.page("order"))
        press(page, "start")
        for task, value in ORDER:
            fulfill(page, task, value)
        phase(page, "Finished")
        page.focus("#moment")
        page.keyboard.press("Home")
        page.keyboard.press("ArrowRight")
        wait_for(page, "Submit Order", "pending")
        wait_for(page, "Create Project", "executing")
        contains(page, "moment-text", " of ")
        page.keyboard.press("End")
        wait_for(page, "Submit Order", "finished")
        contains(page, "moment-text", "now")
        page.keyboard.press("PageDown")
        page.click("#live")
        contains(page, "moment-text", "now")
        label = page.get_attribute("#bars-canvas", "aria-label")
        assert label.startswith("7 attempts of 7 tasks"), label


HOSTILE = [
    "<img src=x onerror=\"window.hostile=1\">", "<script>window.hostile=1</script>",
    "</text></svg><script>window.hostile=1</script>", "javascript:window.hostile=1",
    "\"'><svg onload=window.hostile=1>", "${window.hostile=1}", "\u202egnp.exe", "🦊" * 40,
    "a\nb\t", "\\\"]; digraph { x [URL=\"javascript:window.hostile=1\"]; }",
]


@test(sample=True)
def a_hostile_name_runs_no_script(browser):
    results = [(name, f"{name} result", HOSTILE[:i][-2:]) for i, name in enumerate(HOSTILE)]
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "<img src=x onerror=window.hostile=1>.journal")
        with open(file, "wb") as output:
            output.write(journal(results))
        with browser.start("--journal", file, "--failures", "0", "--speed", "8") as program:
            page = browser.open(program.url)
            shown = page.eval_on_selector_all(
                "#chooser option", "all => all.map(one => [one.value, one.textContent])")
            assert [name for _, name in shown if "<img" in name], shown
            page = browser.open(program.page(shown[1][0]))
            assert page.locator(".node").count() == len(HOSTILE)
            assert page.locator(".node.finished").count() == len(HOSTILE)
            for i, name in enumerate(HOSTILE):
                page.click(f'.node[data-id="{i}"]')
                page.wait_for_function(
                    "name => document.getElementById('task-name').textContent === name", arg=name)
                assert f"{name} result" in page.text_content("#facts")
                page.hover(f'.node[data-id="{i}"]')
            # It is only shown.
            assert page.locator("[data-action][aria-disabled=false]").count() == 0
            page.click("#as-list")
            # What a person types comes back as text, too.
            order = browser.open(program.page("order"))
            press(order, "start")
            fulfill(order, "Photo 1", HOSTILE[0])
            contains(order, "facts", HOSTILE[0])
            for one in (page, order):
                assert one.evaluate("window.hostile") is None
                assert one.problems == []
                inside = one.locator("img, svg script, body script, iframe").count()
                assert inside == 0, one.content()


@test(sample=True)
def the_keyboard_alone_suffices(browser):
    with browser.start("--speed", "8", "--failures", "0") as program:
        page = browser.open(program.page("order"))
        focused = lambda: page.evaluate(
            "document.activeElement.dataset.action ?? document.activeElement.id "
            "?? document.activeElement.tagName")

        def tab_to(wanted, key="Tab"):
            for _ in range(60):
                if page.evaluate(f"document.activeElement.matches({json.dumps(wanted)})"):
                    return
                page.keyboard.press(key)
            raise AssertionError(f"{key} does not reach {wanted}, but {focused()}")

        tab_to("[data-action=start]")
        page.keyboard.press("Enter")
        wait_for(page, "Create Project", "executing")
        for task, value in ORDER:
            tab_to(".node", "Shift+Tab" if task != "Photo 1" else "Tab")
            # Arrows visit the tasks, in whatever way they are arranged.
            page.keyboard.press("Home")
            found = False
            for key in ["ArrowDown"] * 6 + ["ArrowRight"] + ["ArrowUp"] * 6 + ["ArrowDown"] * 6:
                label = page.evaluate("document.activeElement.getAttribute('aria-label')")
                if label.startswith(f"{task}: "):
                    found = True
                    break
                page.keyboard.press(key)
            if not found:
                page.keyboard.press("Home")
                for key in ["ArrowUp"] * 6 + ["ArrowDown"] * 6:
                    label = page.evaluate("document.activeElement.getAttribute('aria-label')")
                    if label.startswith(f"{task}: "):
                        found = True
                        break
                    page.keyboard.press(key)
            assert found, task
            page.keyboard.press("Enter")
            assert focused() == "value"
            page.keyboard.type(value)
            page.keyboard.press("Enter")
            wait_for(page, task, "finished")
            # The focus is not lost when the field goes away.
            page.wait_for_function("() => document.activeElement.id === 'task-name'")
        phase(page, "Finished")
        tab_to("[data-action=reset]", "Shift+Tab")
        page.keyboard.press("Space")
        wait_for(page, "Submit Order", "pending")
        assert page.problems == []


@test(sample=True)
def everything_has_a_name_for_screen_readers(browser):
    with browser.start("--speed", "8", "--failures", "0") as program:
        page = browser.open(program.page("order"))
        page.click('.node[aria-label^="Photo 1: "]')
        nodes = page.context.new_cdp_session(page).send("Accessibility.getFullAXTree")["nodes"]
        named = {}
        for node in nodes:
            if node.get("ignored"):
                continue
            role = node["role"]["value"]
            name = node.get("name", {}).get("value", "")
            named.setdefault(role, []).append(name)
        controls = ["button", "combobox", "textbox", "slider", "listbox", "group", "img", "region"]
        for role in controls:
            assert all(name.strip() for name in named.get(role, [])), (role, named[role])
        buttons = named["button"]
        for task in ("Create Project: ready", "Photo 1: ready", "Submit Order: pending"):
            assert any(name.startswith(task) for name in buttons), buttons
        assert {"Start", "Pause", "Cancel"} <= set(buttons)
        assert named["slider"] == ["Time"] and "Workflow" in named["combobox"]
        for role in ("main", "banner", "navigation", "heading", "status", "alert"):
            assert role in named or role == "alert", (role, sorted(named))
        assert {"Run", "Graph", "Timeline"} <= set(named["region"]), named["region"]


@test
def a_build_is_watched_and_continued(browser):
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "Buildfile"), "w", encoding="utf-8") as file:
            file.write("sum: a b\n  cat a b > sum\na:\n  sleep 0.3; echo 1 > a\n"
                       "b: wanted\n  grep 2 wanted > b\n")
        wanted = os.path.join(folder, "wanted")
        with open(wanted, "w", encoding="utf-8") as file:
            file.write("3\n")
        with browser.start("--build", os.path.join(folder, "Buildfile")) as program:
            page = browser.open(program.page("build"))
            press(page, "start")
            wait_for(page, "b", "failed")
            wait_for(page, "a", "finished")
            phase(page, "Failed")
            page.click('.node[aria-label^="b: "]')
            contains(page, "facts", "the commands ended with exit status 1")
            with open(wanted, "w", encoding="utf-8") as file:
                file.write("2\n")
            # Layouts run Graphviz beside the commands.
            page.reload()
            page.wait_for_selector(".node")
            press(page, "retry")
            phase(page, "Finished")
            with open(os.path.join(folder, "sum"), encoding="utf-8") as file:
                assert file.read() == "1\n2\n"


@test
def a_page_without_the_token_only_shows(browser):
    with browser.start() as program:
        page = browser.open(f"{program.base}/?workflow=order")
        assert page.locator("[data-action][aria-disabled=false]").count() == 0
        assert "without a token" in page.text_content("#connection")
        assert page.locator("#offer").is_hidden()
        # The token does not stay in the address.
        page = browser.open(program.page("order"))
        assert "token" not in page.url
        # A page of another origin gets nothing.
        other = browser.chromium.new_context().new_page()
        with browser.start() as second:
            other.goto(f"{second.base}/icon.svg")
            for path in ("/api/workflows", "/dashboard.js"):
                failed = other.evaluate(
                    "url => fetch(url, { mode: 'no-cors' }).then(() => false, () => true)",
                    program.base + path)
                assert failed, path


@test
def an_unknown_workflow_is_told(browser):
    with browser.start() as program:
        for wanted in ("nothing", "random-x", "random-99999.1", "<b>"):
            page = browser.open(program.page(wanted), nodes=False)
            page.wait_for_function("() => document.getElementById('message').textContent !== ''")
            assert page.locator("#chooser option").count() == 1
            assert page.problems == []


@test
def without_graphviz_there_is_a_list(browser):
    with browser.start(environment={"PATH": "/nonexistent"}) as program:
        page = browser.open(program.page("order"), nodes=False)
        page.wait_for_selector("#list tbody tr")
        if "not installed" not in page.text_content("#problem"):
            return "skipped: Graphviz is in a place of its own"
        assert page.locator("#list tbody tr").count() == 7
        press(page, "start")
        contains(page, "list", "executing")
        page.click("#list button >> text=Photo 1")
        assert page.evaluate("document.activeElement.id") == "value"


@test
def narrow_screens_need_no_sideways_scrolling(browser):
    with browser.start("--speed", "4") as program:
        for width in (320, 360, 600, 768):
            page = browser.open(
                program.page("order"), viewport={"width": width, "height": 740})
            page.click('.node[aria-label^="Photo 1: "]')
            wide = page.evaluate("document.documentElement.scrollWidth")
            assert wide <= width, (width, wide)


@test
def texts_have_contrast(browser):
    measure = """() => {
        const numbers = colour => colour.match(/[\\d.]+/g).slice(0, 3).map(Number);
        const light = colour => {
            const [r, g, b] = numbers(colour).map(part => {
                const c = part / 255;
                return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
            });
            return 0.2126 * r + 0.7152 * g + 0.0722 * b;
        };
        const probe = document.createElement('span');
        document.body.append(probe);
        const colour = name => {
            probe.style.color = `var(--${name})`;
            return getComputedStyle(probe).color;
        };
        const contrast = (a, b) => {
            const [x, y] = [light(colour(a)), light(colour(b))].sort((p, q) => q - p);
            return (x + 0.05) / (y + 0.05);
        };
        const pairs = [['text', 'page'], ['text', 'panel'], ['faint', 'page'], ['faint', 'panel'],
            ['critical', 'panel'], ['failed-bar', 'page'],
            ...['pending', 'ready', 'executing', 'cancelled', 'finished', 'failed', 'skipped']
                .map(state => ['text', state])];
        return pairs.map(([a, b]) => [a, b, contrast(a, b)]);
    }"""
    with browser.start() as program:
        for scheme in ("light", "dark"):
            page = browser.open(program.page("order"), color_scheme=scheme)
            for text, ground, contrast in page.evaluate(measure):
                assert contrast >= 4.5, (scheme, text, ground, contrast)


@test
def pictures_of_an_order(browser):
    with browser.start("--speed", "1", "--failures", "0") as program:
        pages = [browser.open(program.page("order"), color_scheme=scheme)
                 for scheme in ("light", "dark")]
        press(pages[0], "start")
        fulfill(pages[0], "Photo 1", "lighthouse.jpg")
        for page in pages:
            wait_for(page, "Create Project", "finished")
            wait_for(page, "Upload Photo 1", "executing")
            page.click('.node[aria-label^="Photo 2: "]')
            page.mouse.move(0, 0)
        time.sleep(1)
        for page, name in zip(pages, ("light.png", "dark.png")):
            page.click("#hint")
            browser.picture(page, name)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", help="the built program WorkflowDashboard")
    parser.add_argument("--chromium", default="/usr/bin/chromium", help="the browser")
    parser.add_argument("--sample", action="store_true", help="run the shorter tests only")
    parser.add_argument("--only", default="", help="run tests with this text in their names")
    parser.add_argument("--pictures", help="a folder in which the pictures are replaced")
    options = parser.parse_args()
    failed = 0
    with sync_playwright() as playwright:
        # The browser runs as root in containers, where its sandbox cannot.
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        chromium = playwright.chromium.launch(
            executable_path=options.chromium, args=arguments)
        browser = Browser(chromium, os.path.abspath(options.program), options.pictures)
        for function, is_sample in TESTS:
            name = function.__name__.replace("_", " ")
            if options.only not in name or (options.sample and not is_sample):
                continue
            began = time.monotonic()
            try:
                remark = function(browser)
                print(f"ok      {time.monotonic() - began:5.1f} s  {remark or name}", flush=True)
            except Exception:
                failed += 1
                print(f"FAILED  {time.monotonic() - began:5.1f} s  {name}", flush=True)
                traceback.print_exc(limit=4)
            for context in chromium.contexts:
                context.close()
        for name, figures in browser.figures.items():
            print(f"{name}: " + ", ".join(f"{key} {value}" for key, value in figures.items()))
        chromium.close()
    raise SystemExit(1 if failed else 0)


if __name__ == "__main__":
    main()
