import Foundation
import TestSupport
import Testing

@Suite("Event", .timeLimit(.minutes(5)), .oneAtATime)
struct EventTests {
  @Test func `an open event lets everyone through at once`() async {
    let event = Event()
    #expect(!event.isOpen)
    event.signal()
    event.signal()
    #expect(event.isOpen)
    #expect(await event.opened(within: .zero))
    #expect(await event.opened())
  }

  @Test func `a closed event lets nobody through and says so`() async {
    let event = Event()
    #expect(!(await event.opened(within: .milliseconds(5))))
    event.signal()
    #expect(await event.opened())
  }

  @Test func `a signal wakes all tasks and all threads`() async {
    let event = Event()
    let woken = Counter()
    let done = Event()
    for _ in 0..<5 {
      Thread { if event.wait(), woken.add() == 10 { done.signal() } }.start()
      Task { if await event.opened(), woken.add() == 10 { done.signal() } }
    }
    event.signal()
    #expect(await done.opened())
  }

  @Test func `eventually ends when the condition holds, and when the time is up`() async {
    let counter = Counter()
    #expect(await eventually { counter.add() == 5 })
    #expect(!(await eventually(within: .milliseconds(5)) { false }))
  }

  @Test func `a counter knows its highest value, a log its order, a box its value`() {
    let counter = Counter()
    counter.add(3)
    counter.add(-2)
    #expect(counter.value == 1)
    #expect(counter.highest == 3)
    let log = Log<String>()
    log.append("a")
    log.append("b")
    #expect(log.entries == ["a", "b"])
    #expect(log.count == 2)
    let box = Box(1)
    box.value = 2
    #expect(box.value == 2)
  }

  @Test func `a tracker counts the objects that are alive`() {
    let tracker = LifetimeTracker()
    var object: Tracked? = tracker.make()
    object?.touch()
    #expect(tracker.alive == 1)
    object = nil
    #expect(tracker.alive == 0)
  }
}
