import Foundation
import Futures
import OperationBridge
import TestSupport

/// An async closure in a queue that runs until it is told to return, whatever its task is told.
struct StubbornRun: Sendable {
  let queue = OperationQueue.make()
  let begun = Event()
  let gate = Promise<Void>()

  func run() -> Future<Int> {
    queue.run { () async in
      begun.signal()
      await withCheckedContinuation { continuation in
        gate.onSuccess(on: .inline) { continuation.resume() }
      }
      return 1
    }
  }
}
