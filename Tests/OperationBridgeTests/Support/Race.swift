import Foundation
import TestSupport
import Testing

/// Lets threads act on the same thing at the same moment, round after round.
///
/// The first thread makes what a round is about and checks it afterwards; it
/// stops at the first round that is not right, and that round is returned.
func race<Subject: Sendable>(
  rounds: Int, threads: Int = 8, on make: @escaping @Sendable (Int) -> Subject,
  _ act: @escaping @Sendable (_ thread: Int, Subject) -> Void,
  isRight check: @escaping @Sendable (Subject) -> Bool
) async -> Int? {
  let barrier = Barrier(threads)
  let subject = Protected<Subject?>(nil)
  let wrongRound = Protected<Int?>(nil)
  let done = Event()
  for index in 0..<threads {
    Thread.detachNewThread {
      for round in 0..<rounds {
        if index == 0 {
          let made = make(round)
          subject.change { $0 = made }
        }
        barrier.meet()
        // Alternate who goes first.
        if let subject = subject.value { act((index + round) % threads, subject) }
        barrier.meet()
        if index == 0 {
          if let subject = subject.value, !check(subject) { wrongRound.change { $0 = round } }
          subject.change { $0 = nil }
        }
        barrier.meet()
        if wrongRound.value != nil { break }
      }
      if index == 0 { done.signal() }
    }
  }
  guard await done.opened(within: Event.patienceForWork) else {
    Issue.record("The threads did not end in time")
    return nil
  }
  return wrongRound.value
}
