import Foundation
import Futures
import TestSupport
import Testing

@Suite("Where futures were made", .timeLimit(.minutes(5)), .oneAtATime)
struct CreationSiteTests {
  private func expect(
    _ future: AnyFuture, at line: Int, _ location: SourceLocation = #_sourceLocation
  ) {
    #expect(future.createdAt.line == line, sourceLocation: location)
    #expect(
      future.createdAt.fileID == "FuturesTests/CreationSiteTests.swift", sourceLocation: location)
  }

  @Test func `a creation site describes type and place`() {
    let site = CreationSite(fileID: "App/Fetch.swift", line: 12, valueType: "Int")
    #expect(site.description == "Future<Int> created at App/Fetch.swift:12")
    #expect(CreationSite(fileID: "App/Fetch.swift", line: 12).description == "App/Fetch.swift:12")
    #expect(site == CreationSite(fileID: "App/Fetch.swift", line: 12, valueType: "Int"))
    #expect(site != CreationSite(fileID: "App/Fetch.swift", line: 13, valueType: "Int"))
    #expect(Set([site, site]).count == 1)
    #expect(CreationSite().line == #line)
  }

  @available(*, deprecated)
  @Test func `every factory notes the caller's line`() {
    expect(Promise<Int>(), at: #line)
    expect(Promise<Int>(name: "name"), at: #line)
    expect(Promise<Int>.make(), at: #line)
    expect(Promises.make(promising: Int.self), at: #line)
    expect(Promises.make(promising: Int.self, in: OperationQueue()), at: #line)
    expect(Promises.makeFulfilled(with: FutureResult<Int>.success(1)), at: #line)
    expect(Promises.makeSucceeded(with: 1), at: #line)
    expect(Promises.makeFailed(with: TestError.first, promising: Int.self), at: #line)
    expect(Promises.run { 1 }, at: #line)
    expect(Promises.run(on: .inline) { 1 }, at: #line)
    expect(Promises.async { 1 }, at: #line)
    expect(Promises.withResolver(promising: Int.self) { _ in }, at: #line)
    expect(Promises.wrap { (done: @escaping Handler<Int>) in done(1) }, at: #line)
    expect(Promises.wrap { (done: @escaping Handler<(any Error)?>) in done(nil) }, at: #line)
    expect(Promises.wrap { (done: @escaping PairHandler) in done(1, nil) }, at: #line)
    expect(Promises.wrap { (done: @escaping Handler<IntOutcome>) in done(.success(1)) }, at: #line)
    expect(Promises.delay(for: .zero), at: #line)
    expect(Promises.delay(for: DispatchTimeInterval.seconds(0)), at: #line)
    expect(Promises.delay(for: .zero), at: #line)
  }

  @Test func `every combinator of one future notes the caller's line`() {
    let f = Promises.makeSucceeded(with: 1)
    let inner = f
    expect(f.mapToValue { $0 }, at: #line)
    expect(f.mapToValue(on: .inline) { $0 }, at: #line)
    expect(f.mapToValue(\.description), at: #line)
    expect(f.compactMapToValue { $0 }, at: #line)
    expect(f.compactMapToValue(on: .inline) { $0 }, at: #line)
    expect(f.mapToFuture { _ in inner }, at: #line)
    expect(f.mapToFuture(on: .inline) { _ in inner }, at: #line)
    expect(f.mapResult { $0 }, at: #line)
    expect(f.mapResult(on: .inline) { $0 }, at: #line)
    expect(f.mapToVoid(), at: #line)
    expect(f.recover { _ in 1 }, at: #line)
    expect(f.recover(on: .inline) { _ in 1 }, at: #line)
    expect(f.recover(from: TestError.self) { _ in 1 }, at: #line)
    expect(f.recover(on: .inline, from: TestError.self) { _ in 1 }, at: #line)
    expect(f.recoverToFuture { _ in inner }, at: #line)
    expect(f.recoverToFuture(on: .inline) { _ in inner }, at: #line)
    expect(f.mapError { $0 }, at: #line)
    expect(f.mapError(on: .inline) { $0 }, at: #line)
    expect(f.onSuccess { _ in }, at: #line)
    expect(f.onSuccess(on: .inline) { _ in }, at: #line)
    expect(f.onFailure { _ in }, at: #line)
    expect(f.onFailure(on: .inline) { _ in }, at: #line)
    expect(f.onCompletion { _ in }, at: #line)
    expect(f.onCompletion(on: .inline) { _ in }, at: #line)
    expect(f.onCancel {}, at: #line)
    expect(f.onCancel(on: .inline) {}, at: #line)
    expect(f.always {}, at: #line)
    expect(f.always(on: .inline) {}, at: #line)
    expect(f.always { await Task.yield() }, at: #line)
    expect(f.ensure { _ in true }, at: #line)
    expect(f.ensure(on: .inline) { _ in true }, at: #line)
    expect(f.delay(for: .zero), at: #line)
    expect(f.delay(for: DispatchTimeInterval.seconds(0)), at: #line)
    expect(f.timeout(after: .seconds(1)), at: #line)
    expect(f.timeout(after: .seconds(1), fallback: 1), at: #line)
    expect(f.deadline(.now), at: #line)
    expect(f.shielded(), at: #line)
  }

  @Test func `every combinator of elements notes the caller's line`() {
    let f = Promises.makeSucceeded(with: [1])
    expect(f.mapElementsToValue { $0 }, at: #line)
    expect(f.mapElementsToValue(on: .inline) { $0 }, at: #line)
    expect(f.compactMapElementsToValue { $0 }, at: #line)
    expect(f.compactMapElementsToValue(on: .inline) { $0 }, at: #line)
    expect(f.mapElementsToFuture { Promises.makeSucceeded(with: $0) }, at: #line)
    expect(f.mapElementsToFuture(on: .inline) { Promises.makeSucceeded(with: $0) }, at: #line)
    expect(f.compactMapElementsToFuture { maybe($0) }, at: #line)
    expect(f.compactMapElementsToFuture(on: .inline) { maybe($0) }, at: #line)
  }

  @Test func `every combinator of several futures notes the caller's line`() {
    let f = Promises.makeSucceeded(with: 1)
    expect(Promises.combine(f, f), at: #line)
    expect(Promises.collect([f]), at: #line)
    expect(Promises.collectResults([f]), at: #line)
    expect(Promises.collect([f], failingFast: true), at: #line)
    expect(Promises.race([f]), at: #line)
    expect(Promises.race([f], cancellingLosers: false), at: #line)
    expect(Promises.firstCompleted([f]), at: #line)
  }

  @Test func `a race written with || names a line of its caller`() {
    let f = Promises.makeSucceeded(with: 1)
    #expect((f || f).createdAt.fileID == "FuturesTests/CreationSiteTests.swift")
  }

  @Test func `getFuture hands out the very future and returns it`() {
    let promise = Promise<Int>()
    var seen: Future<Int>?
    #expect(promise.getFuture { seen = $0 } === promise)
    #expect(seen === promise)
    #expect(throws: TestError.first) { try promise.getFuture { _ in throw TestError.first } }
  }

  @Test func `a description names the type, the name, the state and the place`() {
    let promise = Promise<Int>(name: "profile")
    let place = "created at FuturesTests/CreationSiteTests.swift:\(#line - 1)"
    #expect(promise.name == "profile")
    #expect(promise.debugDescription == "Future<Int> \"profile\" (pending), \(place)")
    #expect("\(promise)" == promise.debugDescription)
    promise.succeed(with: 1)
    #expect(promise.debugDescription == "Future<Int> \"profile\" (succeeded), \(place)")
    promise.name = nil
    #expect(promise.debugDescription == "Future<Int> (succeeded), \(place)")
    let failed = Promises.makeFailed(with: TestError.first, promising: String.self)
    #expect(failed.debugDescription.hasPrefix("Future<String> (failed: first), created at"))
    let cancelled = Promise<[Int]>()
    cancelled.cancel()
    #expect(cancelled.debugDescription.hasPrefix("Future<Array<Int>> (cancelled), created at"))
  }

  @Test func `a description taken while the closure runs says executing`() {
    let own = Box<AnyFuture?>(nil)
    let text = Box("")
    let promise = Promise<Int>()
    own.value = promise.mapToValue(on: .inline) { _ in
      text.value = own.value?.debugDescription ?? ""
    }
    promise.succeed(with: 1)
    #expect(text.value.contains("(executing)"))
    own.value = nil
  }
}

private typealias Handler<Value> = @Sendable (Value) -> Void
private typealias PairHandler = @Sendable (Int?, (any Error)?) -> Void
private typealias IntOutcome = Result<Int, TestError>

private func maybe(_ value: Int) -> Future<Int?> { Promises.makeSucceeded(with: value) }
