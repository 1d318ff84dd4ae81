import Synchronization

/// The parts of a future's work, as the waiter knows them that works for the future.
@usableFromInline
package struct ProgressParts {
  /// The weight of the parts that are complete.
  var done: Double
  /// The weight of all parts.
  var total: Double
  var pending: [(future: AnyFuture, weight: Double)]
  /// Whether more parts may begin while these are pending.
  var mayGrow = false
  /// Keeps the progress of a race, in which only the furthest parts count; `nil` if all
  /// parts count.
  var mark: (any ProgressMark)?
}

extension ProgressParts {
  /// The parts of work that these futures do.
  package init(_ futures: [AnyFuture]) {
    self.init(done: 0, total: Double(futures.count), pending: futures.map { ($0, 1) })
  }

  /// The parts of work whose first half this future does.
  package init(firstHalf future: AnyFuture) { self.init(done: 0, total: 2, pending: [(future, 1)]) }

  /// The parts of work whose second half this future does.
  package init(secondHalf future: AnyFuture) {
    self.init(done: 1, total: 2, pending: [(future, 1)])
  }

  /// The parts of work whose progress is the mean of all futures; one that has settled is
  /// complete.
  package init(meanOf futures: [AnyFuture?]) {
    self.init(done: 0, total: 0, pending: [])
    for future in futures {
      let weight = future?.progressWeight ?? 1
      total += weight
      if let future, !future.isSettled {
        pending.append((future, weight))
      } else {
        done += weight
      }
    }
  }

  /// The parts of work that ends when so many futures have succeeded.
  ///
  /// Failures do not count.
  package init(
    furthest count: Int, of futures: [AnyFuture], mayGrow: Bool = false,
    mark: any ProgressMark
  ) {
    let done = futures.count { $0.hasSucceeded }
    self.init(
      done: Double(min(done, count)), total: Double(count),
      pending: futures.filter { !$0.isSettled }.map { ($0, 1) }, mayGrow: mayGrow, mark: mark)
  }

  /// What a future is made of whose work this is, or the second half of its work.
  func step(isInHalves: Bool) -> ProgressWalk.Step {
    let half = isInHalves ? 0.5 : 1
    return ProgressWalk.Step(
      base: 1 - half + half * done / total,
      inputs: pending.map { ($0.future, half * $0.weight / total) },
      isKnown: isInHalves || done > 0, mayGrow: mayGrow,
      choice: mark.map { ProgressChoice(count: Int(total - done), mark: $0) })
  }
}

/// The inputs that count for the progress of a race: those that are furthest.
package struct ProgressChoice {
  /// How many inputs count.
  let count: Int
  /// Keeps the value from falling when the input that was furthest drops out.
  let mark: any ProgressMark
}

/// Keeps the largest progress of a race that a reader has seen.
@usableFromInline
package protocol ProgressMark: AnyObject {
  /// Raises the mark to a progress, and returns the mark.
  func raiseProgress(to progress: Double) -> Double
}

/// The largest progress of a race that a reader has seen.
package struct HighestProgress: ~Copyable, Sendable {
  // Numbers that are not negative have the order of their bits.
  private let bits = Atomic<UInt64>(0)

  package init() {}

  package func raise(to progress: Double) -> Double {
    Double(bitPattern: bits.max(max(progress, 0).bitPattern, ordering: .relaxed).newValue)
  }
}
