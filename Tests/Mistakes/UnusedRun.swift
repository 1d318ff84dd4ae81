// A closure that may throw runs, and no code gets its error.
// warning: result of call to 'run(on:fileID:line:_:)' is unused
import Properations

private func mistake() {
  Promises.run(on: .global()) { print("saved") }
}
