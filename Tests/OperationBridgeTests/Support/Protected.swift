import TestSupport

/// A value that several threads change.
final class Protected<Value: Sendable>: Sendable {
  private let mutex: TestLock<Value>

  init(_ value: Value) { mutex = TestLock(value) }

  var value: Value { mutex.withLock { $0 } }

  @discardableResult
  func change<Result: Sendable>(_ body: @Sendable (inout Value) -> Result) -> Result {
    mutex.withLock { value in
      var copy = value
      let result = body(&copy)
      value = copy
      return result
    }
  }
}

/// An object whose end can be seen.
final class Canary: Sendable {
  func sing() {}
}

/// Looks at an object without keeping it.
final class WeakReference: @unchecked Sendable {
  // Sendable: never written after init.
  private weak var object: AnyObject?
  init(_ object: AnyObject) { self.object = object }
  var isGone: Bool { object == nil }
}

struct Oops: Error, Equatable {}
