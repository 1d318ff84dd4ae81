import Foundation

/// Lets several threads act at the same moment, many times.
package struct RaceHarness: Sendable {
  private let threads: Int
  private let rounds: Int

  /// Describes a race.
  ///
  /// - Parameters:
  ///   - threads: The number of threads.
  ///   - rounds: The number of rounds.
  package init(threads: Int, rounds: Int) {
    self.threads = threads
    self.rounds = rounds
  }

  /// Runs the race; it blocks only its own threads.
  ///
  /// - Parameters:
  ///   - prepare: Makes the subject of a round; gets the number of the round.
  ///   - act: Uses the subject on each thread; gets the number of the thread. The numbers
  ///     rotate, so that each of them goes first in some rounds.
  ///   - check: Checks the outcome when all threads have acted.
  /// - Returns: `false` if the threads did not end in time.
  package func run<Subject: Sendable>(
    within patience: Duration = Event.patienceForWork,
    prepare: @escaping @Sendable (Int) -> Subject,
    act: @escaping @Sendable (Subject, Int) -> Void,
    check: @escaping @Sendable (Subject, Int) -> Void = { _, _ in }
  ) async -> Bool {
    let barrier = Barrier(threads)
    let subject = Box<Subject?>(nil)
    let (threads, rounds) = (threads, rounds)
    let running = Counter()
    running.add(threads)
    let done = Event()
    for index in 0..<threads {
      let thread = Thread {
        for round in 0..<rounds {
          if index == 0 { subject.value = prepare(round) }
          barrier.meet()
          if let subject = subject.value { act(subject, (index + round) % threads) }
          barrier.meet()
          if index == 0 {
            if let subject = subject.value { check(subject, round) }
            subject.value = nil
          }
        }
        if running.add(-1) == 0 { done.signal() }
      }
      thread.start()
    }
    return await done.opened(within: patience)
  }
}

/// A barrier where threads wait for one another.
package final class Barrier: @unchecked Sendable {
  // Sendable: everything mutable is guarded by `condition`.
  private let condition = NSCondition()
  private let size: Int
  private var waiting = 0
  private var generation = 0

  package init(_ size: Int) { self.size = size }

  /// Waits until all threads of the barrier have come.
  package func meet() {
    condition.lock()
    defer { condition.unlock() }
    waiting += 1
    if waiting == size {
      waiting = 0
      generation += 1
      condition.broadcast()
      return
    }
    let mine = generation
    while mine == generation { condition.wait() }
  }
}
