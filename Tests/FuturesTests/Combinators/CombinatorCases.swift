import Foundation
import Futures
import TestSupport
import Testing

/// What becomes of an input.
enum InputOutcome: Sendable, Equatable {
  case success, failure, cancelled
}

/// What a combinator makes of its input's outcome.
struct Expectation: Sendable {
  var outcome: InputOutcome
  /// How often the closure runs.
  var runs: Int

  init(_ outcome: InputOutcome, runs: Int) {
    self.outcome = outcome
    self.runs = runs
  }
}

/// One combinator in one of its forms.
struct CombinatorCase: Sendable, CustomTestStringConvertible {
  typealias Derive = @Sendable (Future<Int>, _ hit: @escaping @Sendable () -> Void) -> AnyFuture

  var name: String
  var success: Expectation
  var failure: Expectation
  var cancelled: Expectation
  /// How often the closure runs when the output is cancelled while pending.
  var runsWhenOutputIsCancelled = 0
  var cancelsInput = true
  /// Whether its end needs time to pass, or a thread of another's.
  var needsOthers: Bool {
    name.hasPrefix("delay") || name.hasSuffix("later") || name == "always async"
  }
  var derive: Derive

  var testDescription: String { name }

  init(
    _ name: String, success: Expectation, failure: Expectation, cancelled: Expectation,
    runsWhenOutputIsCancelled: Int = 0, cancelsInput: Bool = true, derive: @escaping Derive
  ) {
    self.name = name
    self.success = success
    self.failure = failure
    self.cancelled = cancelled
    self.runsWhenOutputIsCancelled = runsWhenOutputIsCancelled
    self.cancelsInput = cancelsInput
    self.derive = derive
  }

  func expected(for outcome: InputOutcome) -> Expectation {
    switch outcome {
    case .success: success
    case .failure: failure
    case .cancelled: cancelled
    }
  }
}

extension CombinatorCase {
  /// Combinators whose closure wants values: errors and cancellations pass.
  private static func forValues(_ name: String, _ derive: @escaping Derive) -> CombinatorCase {
    CombinatorCase(
      name, success: .init(.success, runs: 1), failure: .init(.failure, runs: 0),
      cancelled: .init(.cancelled, runs: 0), derive: derive)
  }

  /// Combinators whose closure wants errors: values and cancellations pass.
  private static func forErrors(
    _ name: String, _ after: InputOutcome = .success, _ derive: @escaping Derive
  ) -> CombinatorCase {
    CombinatorCase(
      name, success: .init(.success, runs: 0), failure: .init(after, runs: 1),
      cancelled: .init(.cancelled, runs: 0), derive: derive)
  }

  /// Combinators without a closure, or whose result is the input's.
  private static func passing(
    _ name: String, success: Int = 0, failure: Int = 0, cancelled: Int = 0, output: Int = 0,
    cancelsInput: Bool = true, _ derive: @escaping Derive
  ) -> CombinatorCase {
    CombinatorCase(
      name, success: .init(.success, runs: success), failure: .init(.failure, runs: failure),
      cancelled: .init(.cancelled, runs: cancelled), runsWhenOutputIsCancelled: output,
      cancelsInput: cancelsInput, derive: derive)
  }

  /// Every combinator of one future, its context given.
  static let onContext = cases(on: .inline)

  /// The same, on any context.
  static func cases(on context: some ExecutionContext) -> [CombinatorCase] {
    [
      forValues("mapToValue") { f, hit in
        f.mapToValue(on: context) {
          hit(); return "\($0)"
        }
      },
      CombinatorCase(
        "mapToValue throwing", success: .init(.failure, runs: 1), failure: .init(.failure, runs: 0),
        cancelled: .init(.cancelled, runs: 0)
      ) { f, hit in
        f.mapToValue(on: context) { _ -> Int in
          hit(); throw TestError.second
        }
      },
      CombinatorCase(
        "mapToValue throwing cancelled", success: .init(.cancelled, runs: 1),
        failure: .init(.failure, runs: 0), cancelled: .init(.cancelled, runs: 0)
      ) { f, hit in
        f.mapToValue(on: context) { _ -> Int in
          hit(); throw ProperationsError.cancelled
        }
      },
      forValues("compactMapToValue") { f, hit in
        f.compactMapToValue(on: context) {
          hit(); return Optional("\($0)")
        }
      },
      CombinatorCase(
        "compactMapToValue to nil", success: .init(.failure, runs: 1),
        failure: .init(.failure, runs: 0), cancelled: .init(.cancelled, runs: 0)
      ) { f, hit in
        f.compactMapToValue(on: context) { _ -> Int? in
          hit(); return nil
        }
      },
      forValues("mapToFuture") { f, hit in
        f.mapToFuture(on: context) {
          hit(); return Promises.makeSucceeded(with: "\($0)")
        }
      },
      forValues("mapToFuture, later") { f, hit in
        f.mapToFuture(on: context) { value in
          hit()
          return Promises.delay(for: .milliseconds(1)).mapToValue(on: context) { value }
        }
      },
      CombinatorCase(
        "mapToFuture to a failed one", success: .init(.failure, runs: 1),
        failure: .init(.failure, runs: 0), cancelled: .init(.cancelled, runs: 0)
      ) { f, hit in
        f.mapToFuture(on: context) { _ in
          hit()
          return Promises.makeFailed(with: TestError.second, promising: Int.self)
        }
      },
      CombinatorCase(
        "mapResult", success: .init(.success, runs: 1), failure: .init(.success, runs: 1),
        cancelled: .init(.success, runs: 1)
      ) { f, hit in
        f.mapResult(on: context) { _ in
          hit(); return FutureResult<String>.success("")
        }
      },
      forErrors("recover") { f, hit in
        f.recover(on: context) { _ in
          hit(); return 0
        }
      },
      forErrors("recover throwing", .failure) { f, hit in
        f.recover(on: context) { _ in
          hit(); throw TestError.second
        }
      },
      forErrors("recover from type") { f, hit in
        f.recover(on: context, from: TestError.self) { _ in
          hit(); return 0
        }
      },
      passing("recover from another type") { f, hit in
        f.recover(on: context, from: CancellationError.self) { _ in
          hit(); return 0
        }
      },
      passing("recover from ProperationsError") { f, hit in
        f.recover(on: context, from: ProperationsError.self) { _ in
          hit(); return 0
        }
      },
      forErrors("recoverToFuture") { f, hit in
        f.recoverToFuture(on: context) { _ in
          hit(); return Promises.makeSucceeded(with: 0)
        }
      },
      forErrors("mapError", .failure) { f, hit in
        f.mapError(on: context) { _ in
          hit(); return TestError.second
        }
      },
      passing("onSuccess", success: 1) { f, hit in f.onSuccess(on: context) { _ in hit() } },
      passing("onFailure", failure: 1, cancelled: 1, output: 1) { f, hit in
        f.onFailure(on: context) { _ in hit() }
      },
      passing("onCompletion", success: 1, failure: 1, cancelled: 1, output: 1) { f, hit in
        f.onCompletion(on: context) { _ in hit() }
      },
      passing("onCancel", cancelled: 1, output: 1) { f, hit in f.onCancel(on: context) { hit() } },
      passing("always", success: 1, failure: 1, cancelled: 1, output: 1) { f, hit in
        f.always(on: context) { hit() }
      },
      passing("always async", success: 1, failure: 1, cancelled: 1, output: 1) { f, hit in
        f.always {
          await Task.yield()
          hit()
        }
      },
      forValues("ensure true") { f, hit in
        f.ensure(on: context) { _ in
          hit(); return true
        }
      },
      CombinatorCase(
        "ensure false", success: .init(.failure, runs: 1), failure: .init(.failure, runs: 0),
        cancelled: .init(.cancelled, runs: 0)
      ) { f, hit in
        f.ensure(on: context) { _ in
          hit(); return false
        }
      },
      forValues("mapElementsToValue") { f, hit in
        f.mapToValue(on: context) { [$0] }.mapElementsToValue(on: context) {
          hit(); return $0
        }
      },
      forValues("compactMapElementsToValue") { f, hit in
        f.mapToValue(on: context) { [$0] }
          .compactMapElementsToValue(on: context) { _ -> Int? in
            hit(); return nil
          }
      },
      forValues("mapElementsToFuture") { f, hit in
        f.mapToValue(on: context) { [$0] }
          .mapElementsToFuture(on: context) {
            hit(); return Promises.makeSucceeded(with: $0)
          }
      },
      forValues("compactMapElementsToFuture") { f, hit in
        f.mapToValue(on: context) { [$0] }.compactMapElementsToFuture(on: context) { _ in
          hit()
          return Promises.makeSucceeded(with: Int?.none)
        }
      },
      passing("mapToValue by key path") { f, _ in f.mapToValue(\.description) },
      passing("mapToVoid") { f, _ in f.mapToVoid() },
      passing("delay") { f, _ in f.delay(for: .milliseconds(1)) },
      passing("delay, negative") { f, _ in f.delay(for: .seconds(-1)) },
      passing("delay of Dispatch") { f, _ in f.delay(for: DispatchTimeInterval.milliseconds(1)) },
      passing("timeout") { f, _ in f.timeout(after: .seconds(100)) },
      passing("timeout, huge") { f, _ in f.timeout(after: .seconds(Int64.max)) },
      passing("timeout with fallback") { f, _ in f.timeout(after: .seconds(100), fallback: 0) },
      passing("deadline") { f, _ in f.deadline(.now + .seconds(100)) },
      passing("shielded", cancelsInput: false) { f, _ in f.shielded() },
      passing("collect failing fast") { f, _ in Promises.collect([f], failingFast: true) },
      passing("firstCompleted") { f, _ in Promises.firstCompleted([f]) },
      CombinatorCase(
        "combine", success: .init(.success, runs: 0), failure: .init(.failure, runs: 0),
        cancelled: .init(.failure, runs: 0)
      ) { f, _ in Promises.combine(f, f) },
      CombinatorCase(
        "collect", success: .init(.success, runs: 0), failure: .init(.failure, runs: 0),
        cancelled: .init(.failure, runs: 0)
      ) { f, _ in Promises.collect([f, f]) },
      CombinatorCase(
        "collectResults", success: .init(.success, runs: 0), failure: .init(.success, runs: 0),
        cancelled: .init(.success, runs: 0)
      ) { f, _ in Promises.collectResults([f, f]) },
      CombinatorCase(
        "race", success: .init(.success, runs: 0), failure: .init(.failure, runs: 0),
        cancelled: .init(.failure, runs: 0)
      ) { f, _ in Promises.race([f, f]) },
      CombinatorCase(
        "race by operator", success: .init(.success, runs: 0), failure: .init(.failure, runs: 0),
        cancelled: .init(.failure, runs: 0)
      ) { f, _ in f || f },
    ]
  }

  /// Every combinator with a closure, its context left out.
  static let onMain: [CombinatorCase] = [
    forValues("mapToValue") { f, hit in
      f.mapToValue {
        MainActor.assertIsolated(); hit(); return "\($0)"
      }
    },
    forValues("compactMapToValue") { f, hit in
      f.compactMapToValue {
        MainActor.assertIsolated(); hit(); return Optional("\($0)")
      }
    },
    forValues("mapToFuture") { f, hit in
      f.mapToFuture {
        MainActor.assertIsolated()
        hit()
        return Promises.makeSucceeded(with: "\($0)")
      }
    },
    CombinatorCase(
      "mapResult", success: .init(.success, runs: 1), failure: .init(.success, runs: 1),
      cancelled: .init(.success, runs: 1)
    ) { f, hit in
      f.mapResult { _ in
        MainActor.assertIsolated()
        hit()
        return FutureResult<String>.success("")
      }
    },
    forErrors("recover") { f, hit in
      f.recover { _ in
        MainActor.assertIsolated(); hit(); return 0
      }
    },
    forErrors("recover from type") { f, hit in
      f.recover(from: TestError.self) { _ in
        MainActor.assertIsolated(); hit(); return 0
      }
    },
    forErrors("recoverToFuture") { f, hit in
      f.recoverToFuture { _ in
        MainActor.assertIsolated()
        hit()
        return Promises.makeSucceeded(with: 0)
      }
    },
    forErrors("mapError", .failure) { f, hit in
      f.mapError { _ in
        MainActor.assertIsolated(); hit(); return TestError.second
      }
    },
    passing("onSuccess", success: 1) { f, hit in
      f.onSuccess { _ in
        MainActor.assertIsolated(); hit()
      }
    },
    passing("onFailure", failure: 1, cancelled: 1, output: 1) { f, hit in
      f.onFailure { _ in
        MainActor.assertIsolated(); hit()
      }
    },
    passing("onCompletion", success: 1, failure: 1, cancelled: 1, output: 1) { f, hit in
      f.onCompletion { _ in
        MainActor.assertIsolated(); hit()
      }
    },
    passing("onCancel", cancelled: 1, output: 1) { f, hit in
      f.onCancel {
        MainActor.assertIsolated(); hit()
      }
    },
    passing("always", success: 1, failure: 1, cancelled: 1, output: 1) { f, hit in
      f.always {
        MainActor.assertIsolated(); hit()
      }
    },
    forValues("ensure") { f, hit in
      f.ensure { _ in
        MainActor.assertIsolated(); hit(); return true
      }
    },
    forValues("mapElementsToValue") { f, hit in
      f.mapToValue { [$0] }.mapElementsToValue {
        MainActor.assertIsolated(); hit(); return $0
      }
    },
    forValues("compactMapElementsToValue") { f, hit in
      f.mapToValue { [$0] }.compactMapElementsToValue { _ -> Int? in
        MainActor.assertIsolated()
        hit()
        return nil
      }
    },
    forValues("mapElementsToFuture") { f, hit in
      f.mapToValue { [$0] }.mapElementsToFuture {
        MainActor.assertIsolated()
        hit()
        return Promises.makeSucceeded(with: $0)
      }
    },
    forValues("compactMapElementsToFuture") { f, hit in
      f.mapToValue { [$0] }.compactMapElementsToFuture { _ in
        MainActor.assertIsolated()
        hit()
        return Promises.makeSucceeded(with: Int?.none)
      }
    },
  ]
}
