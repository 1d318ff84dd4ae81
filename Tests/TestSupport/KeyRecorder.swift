#if canImport(Darwin) || PROPERATIONS_AS_ON_DARWIN

  import Foundation
  import Futures

  /// Records the posts of an operation: what a key-value observer of its states hears.
  ///
  /// On Apple's platforms it is such an observer. On Linux, where Foundation has no
  /// observation, it hears the posts by the library's own hook.
  package final class KeyRecorder: NSObject, @unchecked Sendable {
    // Sendable: `state` has a lock, the rest never changes.
    package static let keys = ["isReady", "isExecuting", "isCancelled", "isFinished"]

    private struct State {
      var entries: [String] = []
      var mistakes: [String] = []
      /// The keys that each thread has announced and not posted, innermost last.
      var open: [UInt: [String]] = [:]
    }

    private let operation: Operation
    private let reaction: @Sendable (String) -> Void
    private let state = TestLock(State())

    /// Begins to record.
    ///
    /// - Parameter reaction: Called with each entry, as an observer's own code would be.
    package init(of operation: Operation, reaction: @escaping @Sendable (String) -> Void = { _ in })
    {
      self.operation = operation
      self.reaction = reaction
      super.init()
      begin()
    }

    /// What was posted: `will isFinished: false`, `did isFinished: true`.
    package var entries: [String] { state.withLock { $0.entries } }

    /// What was wrong: a post under a lock, or a pair that is not nested.
    package var mistakes: [String] {
      state.withLock { state in
        state.mistakes + state.open.values.flatMap { $0 }.map { "\($0) was only announced" }
      }
    }

    /// The values that were posted for a key after its changes.
    package func values(of key: String) -> [Bool] {
      entries.compactMap { entry in
        entry.hasPrefix("did \(key): ") ? entry.hasSuffix("true") : nil
      }
    }

    private func value(of key: String) -> Bool {
      switch key {
      case "isReady": operation.isReady
      case "isExecuting": operation.isExecuting
      case "isCancelled": operation.isCancelled
      default: operation.isFinished
      }
    }

    private func hear(_ key: String, isPrior: Bool) {
      let isLocked = LockRank.isHeld
      let entry = "\(isPrior ? "will" : "did") \(key): \(value(of: key))"
      let thread = UInt(bitPattern: pthread_self().hashValue)
      state.withLock { state in
        state.entries.append(entry)
        if isLocked { state.mistakes.append("\(entry) under a lock") }
        if isPrior {
          state.open[thread, default: []].append(key)
        } else if state.open[thread]?.popLast() != key {
          state.mistakes.append("\(entry) ends no pair")
        }
      }
      reaction(entry)
    }

    #if canImport(Darwin)
      private func begin() {
        for key in Self.keys {
          operation.addObserver(self, forKeyPath: key, options: .prior, context: nil)
        }
      }

      /// Ends the record.
      package func stop() {
        for key in Self.keys { operation.removeObserver(self, forKeyPath: key) }
      }

      package override func observeValue(
        forKeyPath keyPath: String?, of object: Any?, change: [NSKeyValueChangeKey: Any]?,
        context: UnsafeMutableRawPointer?
      ) {
        guard let keyPath else { return }
        hear(keyPath, isPrior: change?[.notificationIsPriorKey] as? Bool == true)
      }
    #else
      private func begin() {
        KeyListeners[operation] = { [weak self] in self?.hear($0, isPrior: $1) }
      }

      /// Ends the record.
      package func stop() { KeyListeners[operation] = nil }
    #endif
  }

#endif
