import Foundation
import Futures
import TestSupport
import TypedTasks

/// One operator in one of its forms, and what it makes of its source's end.
struct OperatorCase: Sendable {
  typealias Make =
    @Sendable (ProducerTask<Int, TestError>, _ hit: @escaping @Sendable () -> Void) -> Stage
  typealias Expectation = (kind: Kind, runs: Int)

  let name: String
  private let success: Expectation
  private let provided: Expectation
  private let `internal`: Expectation
  private let cancelled: Expectation
  /// The ends that it does not stop the process for.
  let ends: [SourceEnd]
  let make: Make

  init(
    _ name: String, success: Expectation = (.success, 0), provided: Expectation = (.provided, 0),
    internal: Expectation = (.otherInternal, 0), cancelled: Expectation = (.cancelled, 0),
    ends: [SourceEnd] = SourceEnd.allCases, _ make: @escaping Make
  ) {
    self.name = name
    self.success = success
    self.provided = provided
    self.internal = `internal`
    self.cancelled = cancelled
    self.ends = ends
    self.make = make
  }

  func expected(for end: SourceEnd) -> Expectation {
    switch end {
    case .success: success
    case .provided: provided
    case .internal: `internal`
    case .cancelled: cancelled
    }
  }
}

extension OperatorCase {
  static let all = mapping + recovering + watching + timing + combining

  private static let mapping: [OperatorCase] = [
    OperatorCase("map", success: (.success, 1)) { task, hit in Stage(task.map { _ in hit() }) },
    OperatorCase("key path") { task, _ in Stage(task.map(\.description)) },
    OperatorCase("tryMap", success: (.success, 1)) { task, hit in
      Stage(task.tryMap { _ in hit() })
    },
    OperatorCase("tryMap that throws", success: (.provided, 1)) { task, hit in
      Stage(
        task.tryMap { _ in
          hit()
          throw TestError.second
        })
    },
    OperatorCase("typed tryMap that throws", success: (.provided, 1)) { task, hit in
      Stage(
        task.tryMap(throwing: TestError.self) { value throws(TestError) -> Int in
          hit()
          throw TestError.second
        })
    },
    OperatorCase("flatMap", success: (.success, 1)) { task, hit in
      Stage(
        task.flatMap { _ in
          hit()
          return succeeding(2)
        })
    },
    OperatorCase("flatMap to a chain", success: (.success, 1)) { task, hit in
      Stage(
        task.flatMap { _ in
          hit()
          return succeeding(2).map { $0 + 1 }.map { $0 + 1 }
        })
    },
    OperatorCase("flatMap to a failure", success: (.provided, 1)) { task, hit in
      Stage(
        task.flatMap { _ in
          hit()
          return failing()
        })
    },
    OperatorCase("compactMap", success: (.success, 1)) { task, hit in
      Stage(
        task.compactMap { value -> Int? in
          hit()
          return value
        })
    },
    OperatorCase("compactMap to nil", success: (.nilOutput, 1)) { task, hit in
      Stage(
        task.compactMap { _ -> Int? in
          hit()
          return nil
        })
    },
    OperatorCase("tryCompactMap to nil", success: (.nilOutput, 1)) { task, hit in
      Stage(
        task.tryCompactMap { _ -> Int? in
          hit()
          return nil
        })
    },
    OperatorCase("replaceNil", success: (.success, 1)) { task, hit in
      Stage(
        task.map { _ in Int?.none }.replaceNil {
          hit()
          return 1
        })
    },
    OperatorCase("map of a Void task", success: (.success, 1)) { task, hit in
      Stage(task.ignoreOutput().map { _ in hit() })
    },
    OperatorCase("filter", success: (.nilOutput, 1)) { task, hit in
      Stage(
        task.filter { _ in
          hit()
          return false
        })
    },
    OperatorCase("tryFilter", success: (.success, 1)) { task, hit in
      Stage(
        task.tryFilter { _ in
          hit()
          return true
        })
    },
    OperatorCase("contains", success: (.success, 1)) { task, hit in
      Stage(
        task.contains(where: { _ in
          hit()
          return true
        }))
    },
    OperatorCase("first", success: (.success, 1)) { task, hit in
      Stage(
        task.map { value in
          hit()
          return [value]
        }.first())
    },
    OperatorCase("encode and decode", success: (.success, 1)) { task, hit in
      Stage(
        task.map { value in
          hit()
          return [value]
        }.encode(encoder: JSONEncoder()).decode(type: [Int].self, decoder: JSONDecoder()))
    },
  ]

  private static let recovering: [OperatorCase] = [
    OperatorCase("mapError", provided: (.provided, 1)) { task, hit in
      Stage(
        task.mapError { _ in
          hit()
          return InnerError()
        })
    },
    OperatorCase("replaceError", provided: (.success, 1)) { task, hit in
      Stage(
        task.replaceError { _ in
          hit()
          return 2
        })
    },
    OperatorCase("setFailureType", provided: (.success, 1)) { task, hit in
      Stage(
        task.replaceError { _ in
          hit()
          return 2
        }.setFailureType(to: InnerError.self))
    },
    OperatorCase("catch", provided: (.success, 1)) { task, hit in
      Stage(
        task.catch { _ in
          hit()
          return succeeding(2)
        })
    },
    OperatorCase("catch to a failure", provided: (.provided, 1)) { task, hit in
      Stage(
        task.catch { _ in
          hit()
          return failing()
        })
    },
    OperatorCase("tryCatch", provided: (.success, 1)) { task, hit in
      Stage(
        task.tryCatch { _ in
          hit()
          return succeeding(2)
        })
    },
    OperatorCase("tryCatch that throws", provided: (.provided, 1)) { task, hit in
      Stage(
        task.tryCatch { _ -> Sample<Int> in
          hit()
          throw InnerError()
        })
    },
    OperatorCase("assertNoFailure", ends: [.success, .internal, .cancelled]) { task, _ in
      Stage(task.assertNoFailure())
    },
    OperatorCase("retry", provided: (.success, 1)) { task, hit in
      Stage(
        task.retry(3) { _ in
          hit()
          return succeeding(2)
        })
    },
    OperatorCase("retry in vain", provided: (.provided, 3)) { task, hit in
      Stage(
        task.retry(3) { _ in
          hit()
          return failing()
        })
    },
  ]

  private static let watching: [OperatorCase] = [
    OperatorCase(
      "handleEvents", success: (.success, 1), provided: (.provided, 1),
      internal: (.otherInternal, 1), cancelled: (.cancelled, 1)
    ) { task, hit in
      Stage(
        task.handleEvents(
          receiveOutput: { _ in hit() }, receiveFailure: { _ in hit() }, receiveCancel: hit))
    },
    OperatorCase(
      "printEvents", success: (.success, 1), provided: (.provided, 1),
      internal: (.otherInternal, 1), cancelled: (.cancelled, 1)
    ) { task, hit in Stage(task.printEvents("seeded") { _ in hit() }) },
    OperatorCase("breakpointOnOutput", success: (.success, 1)) { task, hit in
      Stage(
        task.breakpointOnOutput { _ in
          hit()
          return false
        })
    },
    OperatorCase("breakpointOnFailure", provided: (.provided, 1)) { task, hit in
      Stage(
        task.breakpointOnFailure { _ in
          hit()
          return false
        })
    },
    OperatorCase("breakpointOnError", ends: [.success]) { task, _ in
      Stage(task.breakpointOnError())
    },
  ]

  private static let timing: [OperatorCase] = [
    OperatorCase("delay") { task, _ in Stage(task.delay(for: Duration.zero)) },
    OperatorCase("timeout") { task, _ in Stage(task.timeout(after: .seconds(1000))) },
    OperatorCase("measureInterval") { task, _ in Stage(task.measureInterval()) },
  ]

  private static let combining: [OperatorCase] = [
    OperatorCase("share") { task, _ in Stage(task.share()) },
    OperatorCase("zip") { task, _ in Stage(task.zip(succeeding("a"), succeeding(2.5))) },
    OperatorCase("zip with a failure", success: (.provided, 0)) { task, _ in
      Stage(task.zip(failing(with: .second)))
    },
    OperatorCase("firstOf") { task, _ in Stage(task.firstOf(failing(), broken())) },
    OperatorCase(
      "firstOf with a winner", provided: (.success, 0), internal: (.success, 0),
      cancelled: (.success, 0)
    ) { task, _ in Stage(task.firstOf(failing(), succeeding(2))) },
    OperatorCase("collect with others") { task, _ in
      Stage(task.collect(with: succeeding(2), succeeding(3)))
    },
    OperatorCase("reduce", success: (.success, 2)) { task, hit in
      Stage(
        Tasks.reduce([succeeding(2), task], 0) { total, value in
          hit()
          return total + value
        })
    },
  ]
}
