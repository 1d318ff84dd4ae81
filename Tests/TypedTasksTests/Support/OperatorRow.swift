import Foundation
import Futures
import TestSupport
import TypedTasks

/// An operator, and what has to come of it, whatever it produces.
struct OperatorRow: Sendable {
  /// A stage that the operator has made.
  struct Stage: Sendable {
    let task: any ProducerTaskProtocol
    let kind: @Sendable () -> Kind?
    let receive: @Sendable (@escaping @Sendable () -> Void) -> Void
    let addBelow: @Sendable (TaskQueue) -> Void
    let settled: @Sendable () async -> Void
  }

  /// The operator's name, as it is written.
  let name: String
  let make: @Sendable (ProducerTask<Int, TestError>) -> Stage
  /// Upstreams that would trap.
  let traps: Set<Upstream>
  /// Whether it makes no stage of its own.
  let isUpstreamItself: Bool
  private let success: Kind
  private let provided: Kind

  init<O: Sendable, F: Error>(
    _ name: String, success: Kind = .success, provided: Kind = .provided,
    traps: Set<Upstream> = [], isUpstreamItself: Bool = false,
    _ make: @escaping @Sendable (ProducerTask<Int, TestError>) -> ProducerTask<O, F>
  ) {
    self.name = name
    self.success = success
    self.provided = provided
    self.traps = traps
    self.isUpstreamItself = isUpstreamItself
    self.make = { upstream in
      let task = make(upstream)
      return Stage(
        task: task, kind: { task.kind }, receive: { body in task.receive { _ in body() } },
        addBelow: { queue in queue.addTask(task.map { _ in () }) },
        settled: { _ = await task.completion })
    }
  }

  /// The upstreams that do not make it trap.
  var upstreams: [Upstream] { Upstream.allCases.filter { !traps.contains($0) } }

  func expected(_ upstream: Upstream) -> Kind {
    switch upstream {
    case .success: success
    case .provided: provided
    case .internal: .otherInternal
    case .cancelled: .cancelled
    }
  }

  private static let data = Data("[21]".utf8)

  /// Every operator of the module.
  static let all: [OperatorRow] = values + tests + errors + timing + several

  private static let values: [OperatorRow] = [
    OperatorRow("map") { $0.map { $0 + 1 } },
    OperatorRow("map") { $0.map(\.description) },
    OperatorRow("map") { $0.map(\.description, \.self).map(\.0) },
    OperatorRow("map") { $0.map(\.description, \.self, \.magnitude).map(\.2) },
    OperatorRow("tryMap") { $0.tryMap { $0 } },
    OperatorRow("tryMap", success: .provided) { $0.tryMap { _ -> Int in throw InnerError() } },
    OperatorRow("tryMap") { $0.tryMap(throwing: TestError.self) { $0 } },
    OperatorRow("tryMap", success: .provided) {
      $0.tryMap(throwing: TestError.self) { _ throws(TestError) -> Int in throw .second }
    },
    OperatorRow("flatMap") { $0.flatMap { succeeding($0) } },
    OperatorRow("flatMap", success: .provided) { $0.flatMap { _ in failing() } },
    OperatorRow("compactMap") { $0.compactMap { Optional($0) } },
    OperatorRow("compactMap", success: .nilOutput) { $0.compactMap { _ in Int?.none } },
    OperatorRow("tryCompactMap") { $0.tryCompactMap { Optional($0) } },
    OperatorRow("tryCompactMap", success: .provided) {
      $0.tryCompactMap { _ -> Int? in throw InnerError() }
    },
    OperatorRow("tryCompactMap", success: .nilOutput) {
      $0.tryCompactMap(throwing: TestError.self) { _ in Int?.none }
    },
    OperatorRow("tryCompactMap", success: .provided) {
      $0.tryCompactMap(throwing: TestError.self) { _ throws(TestError) -> Int? in throw .second }
    },
    OperatorRow("replaceNil") { $0.map { Optional($0) }.replaceNil { 0 } },
    OperatorRow("ignoreOutput") { $0.ignoreOutput() },
    OperatorRow("map") { $0.ignoreOutput().map { _ in 1 } },
    OperatorRow("replaceEmpty") { $0.filter { _ in false }.replaceEmpty(with: 1) },
    OperatorRow("decode") {
      $0.map { _ in data }.decode(type: [Int].self, decoder: JSONDecoder())
    },
    OperatorRow("encode") { $0.encode(encoder: JSONEncoder()) },
    OperatorRow("handleEvents") { $0.handleEvents(receiveOutput: { _ in }) },
    OperatorRow("printEvents") { $0.printEvents("row") { _ in } },
    OperatorRow("breakpointOnOutput") { $0.breakpointOnOutput { _ in false } },
    OperatorRow("share") { $0.share() },
    OperatorRow("eraseToProducerTask", isUpstreamItself: true) { $0.eraseToProducerTask() },
  ]

  private static let tests: [OperatorRow] = [
    OperatorRow("filter") { $0.filter { $0 > 0 } },
    OperatorRow("filter", success: .nilOutput) { $0.filter { $0 < 0 } },
    OperatorRow("tryFilter") { $0.tryFilter { $0 > 0 } },
    OperatorRow("tryFilter", success: .provided) { $0.tryFilter { _ in throw InnerError() } },
    OperatorRow("tryFilter", success: .nilOutput) {
      $0.tryFilter(throwing: TestError.self) { _ in false }
    },
    OperatorRow("tryFilter", success: .provided) {
      $0.tryFilter(throwing: TestError.self) { _ throws(TestError) in throw .second }
    },
    OperatorRow("allSatisfy") { $0.allSatisfy { $0 > 0 } },
    OperatorRow("tryAllSatisfy") { $0.tryAllSatisfy { $0 > 0 } },
    OperatorRow("tryAllSatisfy", success: .provided) {
      $0.tryAllSatisfy { _ in throw InnerError() }
    },
    OperatorRow("contains") { $0.contains(21) },
    OperatorRow("contains") { $0.contains { $0 > 0 } },
    OperatorRow("tryContains") { $0.tryContains { $0 > 0 } },
    OperatorRow("tryContains", success: .provided) { $0.tryContains { _ in throw InnerError() } },
    OperatorRow("first") { $0.map { [$0] }.first() },
    OperatorRow("first", success: .nilOutput) { $0.map { [$0] }.first { $0 < 0 } },
    OperatorRow("tryFirst") { $0.map { [$0] }.tryFirst { $0 > 0 } },
    OperatorRow("tryFirst", success: .provided) {
      $0.map { [$0] }.tryFirst { _ in throw InnerError() }
    },
  ]

  private static let errors: [OperatorRow] = [
    OperatorRow("mapError") { $0.mapError { _ in InnerError() } },
    OperatorRow("setFailureType", provided: .success) {
      $0.replaceError(with: 0).setFailureType(to: TestError.self)
    },
    OperatorRow("replaceError", provided: .success) { $0.replaceError { _ in 0 } },
    OperatorRow("replaceError", provided: .success) { $0.replaceError(with: 0) },
    OperatorRow("catch", provided: .success) { $0.catch { _ in succeeding(1) } },
    OperatorRow("catch", provided: .provided) { $0.catch { _ in failing(with: .second) } },
    OperatorRow("tryCatch", provided: .success) { $0.tryCatch { _ in succeeding(1) } },
    OperatorRow("tryCatch") { $0.tryCatch { _ -> Sample<Int> in throw InnerError() } },
    OperatorRow("tryCatch", provided: .success) {
      $0.tryCatch(throwing: TestError.self) { _ throws(TestError) in succeeding(1) }
    },
    OperatorRow("tryCatch") {
      $0.tryCatch(throwing: TestError.self) { _ throws(TestError) -> Sample<Int> in throw .second }
    },
    OperatorRow("assertNoFailure", traps: [.provided]) { $0.assertNoFailure() },
    OperatorRow("retry", provided: .success) { $0.retry(2) { _ in succeeding(1) } },
    OperatorRow("retry", provided: .success) {
      $0.retry(2, delays: { _ in .milliseconds(1) }) { _ in succeeding(1) }
    },
    OperatorRow("retry") { $0.retry(0) { _ in succeeding(1) } },
    OperatorRow("breakpointOnFailure") { $0.breakpointOnFailure { _ in false } },
    OperatorRow("breakpointOnError", traps: [.provided, .internal, .cancelled]) {
      $0.breakpointOnError()
    },
  ]

  private static let timing: [OperatorRow] = [
    OperatorRow("delay") { $0.delay(for: .milliseconds(1) as Duration) },
    OperatorRow("delay") { $0.delay(for: .milliseconds(1) as DispatchTimeInterval) },
    OperatorRow("delay") { $0.delay(for: .zero) },
    OperatorRow("timeout") { $0.timeout(after: .seconds(1000)) },
    OperatorRow("measureInterval") { $0.measureInterval() },
  ]

  private static let several: [OperatorRow] = [
    OperatorRow("zip") { $0.zip(succeeding("a")).map(\.1) },
    OperatorRow("collect") { $0.collect(with: succeeding(1)) },
    OperatorRow("firstOf") { $0.firstOf(failing(with: .second)) },
    OperatorRow("collect") { Tasks.collect([$0, succeeding(1)]) },
    OperatorRow("reduce") { Tasks.reduce([$0, succeeding(1)], 0, +) },
    OperatorRow("firstOf") { Tasks.firstOf([$0]) },
  ]
}
