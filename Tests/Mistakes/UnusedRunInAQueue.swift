// A closure that may throw runs in a queue, and no code gets its error.
// warning: result of call to 'run(barrier:fileID:line:_:)' is unused
import Foundation
import Properations

private func mistake(_ queue: OperationQueue) {
  queue.run { print("saved") }
}
