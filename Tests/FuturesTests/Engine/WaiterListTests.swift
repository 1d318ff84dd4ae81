import Foundation
import TestSupport
import Testing

@testable import Futures

/// Who waits for a future: the order, the consumers, and how they part.
@Suite("The waiters of the state machine", .timeLimit(.minutes(5)), .oneAtATime)
struct WaiterListTests {
  private final class TestWaiter: CallbackWaiter, @unchecked Sendable {
    // Sendable: nothing changes.
    private let isFinishWaiter: Bool
    init(waitsForFinish: Bool = false) { isFinishWaiter = waitsForFinish }
    override var waitsForFinish: Bool { isFinishWaiter }
  }

  private func names(_ list: consuming WaiterList) -> [ObjectIdentifier] {
    var list = list
    var names: [ObjectIdentifier] = []
    while let waiter = list.popFirst() {
      if case .callback(let callback) = waiter { names.append(ObjectIdentifier(callback)) }
    }
    return names
  }

  @Test func `only the last of those who want the value empties the demand`() {
    var machine = FutureStateMachine(upstream: .none, work: nil)
    let waiters = (0..<3).map { _ in Waiter.callback(TestWaiter()) }
    let watching = Waiter.callback(TestWaiter())
    for waiter in waiters { _ = machine.attach(waiter, isConsumer: true) }
    _ = machine.attach(watching, isConsumer: false)
    let answers = [waiters[1], waiters[1], waiters[0], waiters[2]].map {
      machine.leave($0, cancelling: true)
    }
    #expect(answers == [false, false, false, true])
    _ = machine.leave(watching, cancelling: false)
    let isEmpty = machine.waiters.isEmpty
    #expect(isEmpty)
  }

  @Test(arguments: 0..<8)
  func `consumers leave in any order: the last is answered "cancel" if one was cancelled`(
    _ cancelled: Int
  ) {
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
      var machine = FutureStateMachine(upstream: .none, work: nil)
      let waiters = (0..<3).map { _ in Waiter.callback(TestWaiter()) }
      for waiter in waiters { _ = machine.attach(waiter, isConsumer: true) }
      let answers = order.map { machine.leave(waiters[$0], cancelling: cancelled & 1 << $0 != 0) }
      #expect(answers == [false, false, cancelled != 0], "\(order)")
    }
  }

  @Test func `a consumer that was cancelled counts although another comes after it`() {
    var machine = FutureStateMachine(upstream: .none, work: nil)
    let (early, late) = (Waiter.callback(TestWaiter()), Waiter.callback(TestWaiter()))
    _ = machine.attach(early, isConsumer: true)
    let first = machine.leave(early, cancelling: true)
    _ = machine.attach(late, isConsumer: true)
    let second = machine.leave(late, cancelling: false)
    #expect(first)
    #expect(second)
  }

  @Test func `a watcher that becomes a consumer counts from then on, once`() {
    var machine = FutureStateMachine(upstream: .none, work: nil)
    let (watcher, consumer) = (Waiter.callback(TestWaiter()), Waiter.callback(TestWaiter()))
    _ = machine.attach(watcher, isConsumer: false)
    _ = machine.attach(consumer, isConsumer: true)
    let answers = [
      machine.becomeConsumer(watcher), machine.becomeConsumer(watcher),
      machine.becomeConsumer(consumer), machine.leave(consumer, cancelling: true),
      machine.leave(watcher, cancelling: true), machine.becomeConsumer(watcher),
    ]
    #expect(answers == [true, false, false, false, true, false])
  }

  @Test func `who comes while several are told is told after them, unless all are one inline`() {
    func lateComerWaits(behind futures: [Future<Int>]) -> Bool {
      var machine = FutureStateMachine(upstream: .none, work: nil)
      for future in futures { _ = machine.attach(.future(future), isConsumer: true) }
      _ = machine.settle(.success, from: .outside)
      var waiters = machine.deliver().waiters
      let late = Waiter.callback(TestWaiter())
      let isEnlisted = machine.attach(late, isConsumer: true)
      while waiters.popFirst() != nil {}
      var others = machine.takeLateWaiters()
      while others.popFirst() != nil {}
      return isEnlisted
    }
    func link(_ context: some ExecutionContext) -> Future<Int> {
      Future(
        traits: .actsOnSuccess, context: ContextReference(context), upstream: .none,
        at: Birthplace(#fileID, #line), work: nil)
    }
    let queue = DispatchQueue(label: "several")
    #expect(!lateComerWaits(behind: []))
    #expect(!lateComerWaits(behind: [link(.inline)]))
    #expect(lateComerWaits(behind: [link(queue)]))
    #expect(lateComerWaits(behind: [link(queue), link(.inline)]))
    #expect(lateComerWaits(behind: [link(.inline), link(queue)]))
    #expect(lateComerWaits(behind: [link(.inline), link(.inline)]))
  }

  @Test func `waiters are handed out in order, whoever left from the middle`() {
    var machine = FutureStateMachine(upstream: .none, work: nil)
    let objects = (0..<5).map { _ in TestWaiter() }
    for object in objects { _ = machine.attach(.callback(object), isConsumer: true) }
    for index in [0, 2, 4] { _ = machine.leave(.callback(objects[index]), cancelling: false) }
    _ = machine.attach(.callback(objects[2]), isConsumer: true)
    _ = machine.settle(.success, from: .outside)
    // Between settling and telling: still in line.
    _ = machine.attach(.callback(objects[0]), isConsumer: true)
    #expect(names(machine.deliver().waiters) == [1, 3, 2, 0].map { ObjectIdentifier(objects[$0]) })
  }

  @Test func `every set of waiters that leaves keeps the order of the others`() {
    for leaving in 0..<32 {
      var list = WaiterList()
      let objects = (0..<5).map { _ in TestWaiter() }
      for (index, object) in objects.enumerated() {
        list.append(.callback(object), isConsumer: index.isMultiple(of: 2))
      }
      let staying = (0..<5).filter { leaving & 1 << $0 == 0 }
      for index in 0..<5 where !staying.contains(index) {
        #expect(list.remove(.callback(objects[index])) == index.isMultiple(of: 2))
        #expect(list.remove(.callback(objects[index])) == nil)
      }
      #expect(list.isEmpty == staying.isEmpty)
      #expect(names(list) == staying.map { ObjectIdentifier(objects[$0]) })
    }
  }

  @Test(arguments: 0...4) func `a walk through the waiters stops where it is told to`(_ stop: Int) {
    var list = WaiterList()
    let objects = (0..<3).map { _ in TestWaiter() }
    for object in objects { list.append(.callback(object), isConsumer: true) }
    var seen = 0
    list.forEach { _ in
      seen += 1
      return seen < stop
    }
    #expect(seen == min(max(stop, 1), 3))
    #expect(names(list).count == 3)
  }

  // MARK: Waiters for the finish

  @Test func `who waits for the finish is kept, after it has settled, until a queue's start`() {
    var machine = FutureStateMachine(upstream: .none, work: nil)
    let waiter = TestWaiter(waitsForFinish: true)
    machine.enqueue(isCertain: true)
    _ = machine.settle(.success, from: .outside)
    _ = machine.deliver()
    let isKept = machine.attach(.callback(waiter), isConsumer: false)
    let isFirst = machine.start() == .now
    #expect(isKept)
    #expect(isFirst)
    #expect(
      names(machine.extras?.finishWaiters.take() ?? WaiterList()) == [ObjectIdentifier(waiter)])
    let isTooLate = !machine.attach(.callback(waiter), isConsumer: false)
    let isNotKept = !machine.keepUntilFinish(.callback(waiter))
    #expect(isTooLate)
    #expect(isNotKept)
  }

  @Test func `who waits for the finish may go until it comes, also after the settlement`() {
    var machine = FutureStateMachine(upstream: .none, work: nil)
    let waiters = (0..<3).map { _ in TestWaiter(waitsForFinish: true) }
    machine.enqueue(isCertain: true)
    _ = machine.settle(.success, from: .outside)
    _ = machine.deliver()
    for waiter in waiters { _ = machine.attach(.callback(waiter), isConsumer: false) }
    let isAsked = machine.leave(.callback(waiters[1]), cancelling: true)
    #expect(!isAsked)
    let left = names(machine.extras?.finishWaiters.take() ?? WaiterList())
    #expect(left == [0, 2].map { ObjectIdentifier(waiters[$0]) })
  }

  @Test(arguments: 0..<3)
  func `who waits for the finish and goes between settling and telling disturbs nobody`(
    _ place: Int
  ) {
    var machine = FutureStateMachine(upstream: .none, work: nil)
    _ = machine.needExtras()
    let objects = (0..<3).map { TestWaiter(waitsForFinish: $0 == place) }
    for object in objects { _ = machine.attach(.callback(object), isConsumer: false) }
    _ = machine.settle(.success, from: .outside)
    _ = machine.leave(.callback(objects[place]), cancelling: false)
    let kept = names(machine.extras?.finishWaiters.take() ?? WaiterList())
    let told = names(machine.deliver().waiters)
    let others = objects.filter { $0 !== objects[place] }.map(ObjectIdentifier.init)
    #expect(told.filter { $0 != ObjectIdentifier(objects[place]) } == others)
    #expect(kept.isEmpty)
  }

  @Test func `who waits for the finish and goes while the finish is told disturbs nobody`() {
    var machine = FutureStateMachine(upstream: .none, work: nil)
    let objects = (0..<3).map { _ in TestWaiter(waitsForFinish: true) }
    machine.enqueue(isCertain: true)
    _ = machine.settle(.success, from: .outside)
    _ = machine.deliver()
    for object in objects { _ = machine.attach(.callback(object), isConsumer: false) }
    _ = machine.start()
    var telling = machine.extras?.finishWaiters.take() ?? WaiterList()
    _ = telling.popFirst()
    _ = machine.leave(.callback(objects[1]), cancelling: false)
    let told = names(telling)
    #expect(told.contains(ObjectIdentifier(objects[2])))
  }

  // MARK: Being released

  @Test func `a future that is released hands out its waiters in order, and what it waited for`() {
    var machine = FutureStateMachine(upstream: .source(TestWaiter()), work: nil)
    let objects = (0..<2).map { _ in TestWaiter() }
    for object in objects { _ = machine.attach(.callback(object), isConsumer: true) }
    let (upstream, waiters) = machine.abandon()
    #expect(names(waiters) == objects.map(ObjectIdentifier.init))
    if case .source = upstream {} else { Issue.record("what it waited for is lost") }
    let isEmpty = machine.waiters.isEmpty
    #expect(isEmpty)
  }

  @Test func `all who need a reference to a future share one`() {
    var machine = FutureStateMachine(upstream: .none, work: nil)
    let (future, other) = (Promise<Int>(), Promise<Int>())
    let reference = machine.reference(to: future)
    let isSame = machine.reference(to: other) === reference
    #expect(isSame)
    #expect(reference.future === future)
  }
}
