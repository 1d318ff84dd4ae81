import Foundation
import Futures
import OperationBridge
import TestSupport
import Testing

/// Foundation complains on standard error when an operation misbehaves.
///
/// Each
/// scenario runs in a process of its own, whose output is caught.
@Suite("Nothing is printed", .timeLimit(.minutes(5)), .oneAtATime, .serialized)
struct SilenceTests {
  #if os(Linux) || os(macOS)
    private func expectSilence(_ result: ExitTest.Result?) {
      let output = String(decoding: result?.standardOutputContent ?? [], as: UTF8.self)
      let error = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
      #expect(output.isEmpty)
      #expect(error.isEmpty)
    }

    @Test(
      "Promises enqueued, settled, cancelled, released, depended on, in every mix: silence",
      .guarantee(12))
    func promises() async {
      let result = await #expect(
        processExitsWith: .success,
        observing: [\.standardOutputContent, \.standardErrorContent]
      ) {
        let queue = OperationQueue.make(limit: 2)
        var kept: [Promise<Int>] = []
        for number in 0..<600 {
          let promise = Promises.make(promising: Int.self)
          if number % 7 == 0 { _ = promise.isReady }
          if number % 11 == 0 { promise.succeed(with: 0) }
          switch number % 3 {
          case 0: try? queue.addFuture(promise)
          case 1: if !promise.isFinished { queue.addOperation(promise) }
          default: break
          }
          if number % 5 == 0 {
            let dependent = BlockOperation {}
            dependent.addDependency(promise)
            queue.addOperation(dependent)
            kept.append(promise)
          }
          DispatchQueue.global().async {
            switch number % 4 {
            case 0: promise.cancel()
            case 1: promise.fail(with: Oops())
            default: promise.succeed(with: number)
            }
          }
        }
        demand(await queue.isEmptyEventually())
        demand(kept.allSatisfy { $0.isFinished })
      }
      expectSilence(result)
    }

    @Test("Blocking promises cancelled, lost, settled early, on suspended and main queues: silence")
    func blockingPromises() async {
      let result = await #expect(
        processExitsWith: .success,
        observing: [\.standardOutputContent, \.standardErrorContent]
      ) {
        let queue = OperationQueue.make(isSuspended: true)
        var promises: [BlockingPromise<Int>] = []
        for number in 0..<300 {
          let promise = BlockingPromise<Int>(on: .global()) { promise in
            switch number % 4 {
            case 0: throw Oops()
            case 1: break
            default: promise.succeed(with: number)
            }
          }
          if number % 2 == 0 { try? queue.addFuture(promise) } else { queue.addOperation(promise) }
          if number % 9 == 0 { promise.cancel() }
          if number % 10 == 0 { promise.succeed(with: 1) }
          promises.append(promise)
        }
        let onMain = BlockingPromise<Int> { $0.succeed(with: 1) }
        OperationQueue.main.addOperation(onMain)
        queue.isSuspended = false
        for number in 0..<30 { promises[number * 10].cancel() }
        // Nobody else settles those whose closures do nothing.
        for number in 0..<75 { promises[number * 4 + 1].cancel() }
        demand(await queue.isEmptyEventually())
        demand(promises.allSatisfy { $0.isFinished })
        demand(await eventually { onMain.isFinished })
        queue.cancelAllOperations()
      }
      expectSilence(result)
    }

    @Test("Queues cancelled, operations awaited, ties, processes that cannot start: silence")
    func bridges() async {
      let result = await #expect(
        processExitsWith: .success,
        observing: [\.standardOutputContent, \.standardErrorContent]
      ) {
        let queue = OperationQueue.make(limit: 3)
        for number in 0..<300 {
          let operation = BlockOperation {}
          let future = operation.future
          let promise = Promises.make(promising: Int.self, in: queue)
          promise.cancel(onFinishOf: operation)
          operation.cancel(onFailureOf: future)
          if number % 3 == 0 { operation.cancel() }
          if number % 5 == 0 { future.cancel() }
          queue.addOperation(operation)
          _ = queue.run { number }
        }
        demand(await queue.isEmptyEventually())
        _ = queue.run(barrier: true) {}
        for _ in 0..<20 { _ = Promises.make(promising: Int.self, in: queue) }
        queue.cancelAllOperations()
        demand(await Process.missing().runAsFuture(in: queue).completion.isFailure)
        demand(try await Process.shell("echo out; echo err >&2").runAsFuture().value == 0)
        demand(await queue.isEmptyEventually())
      }
      expectSilence(result)
    }
  #endif
}
